// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

#include "analysis/report/savings.h"
#include "base/bytes.h"
#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/savings/measure.h"

namespace tidemark::cli {
namespace {

namespace fs = std::filesystem;
namespace report = analysis::report;

constexpr const char* kExamples =
    "  tidemark savings                                        U-Net in 11 GiB, a table\n"
    "  tidemark savings --model gpt --budget 24GiB             another model, a larger card\n"
    "  tidemark savings --model resnet --format json\n"
    "  tidemark savings --model bert -o bert-savings           keeps every trace, and the report in every format";

struct Options {
  std::string model = "unet", budget = "11GiB", format = "text", folder;
};

Error usage(const std::string& what, const std::string& hint) {
  return {Errc::InvalidArgument, what, hint};
}

Result<const SavingsModel*> model_of(const std::string& name) {
  if (const SavingsModel* const model = find_savings_model(name)) return model;
  std::vector<std::string_view> known;
  std::string names;
  for (SavingsModel const& m : savings_models()) {
    known.push_back(m.name);
    names += (names.empty() ? "" : ", ") + std::string(m.name);
  }
  std::string_view const meant = nearest(name, known);
  return usage("--model: no model '" + name + "'",
               (meant.empty() ? "" : "meant: " + std::string(meant) + "? ") + "there are: " + names);
}

Result<std::uint64_t> budget_of(const std::string& text) {
  auto const size = parse_bytes(text);
  if (size.ok() && size->n > 0) return size->n;
  return usage("--budget: not a size: '" + text + "'", "write it as 512MiB, 11GiB or plain bytes");
}

// Where traces go: the folder that was asked for, or one that ends with us.
class Folder {
 public:
  static Result<Folder> make(const std::string& wanted) {
    std::error_code failure;
    if (!wanted.empty()) {
      fs::create_directories(wanted, failure);
      if (failure || !fs::is_directory(wanted, failure))
        return Error{Errc::Io, wanted + ": cannot be made a folder: " + failure.message(),
                     "choose another with -o DIR"};
      if (!fs::is_empty(wanted, failure) && !fs::exists(fs::path(wanted) / kReport, failure))
        return Error{Errc::Io, wanted + ": there are files of others in it", "choose another with -o DIR"};
      return Folder(fs::absolute(wanted).string(), true);
    }
    std::string name = (fs::temp_directory_path(failure) / "tidemark-savings-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      return Error{Errc::Io, name + ": " + std::strerror(errno), "set TMPDIR to a folder that can be written"};
    return Folder(std::move(name), false);
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})), kept_(other.kept_) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!kept_ && !path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  bool kept() const { return kept_; }

  static constexpr const char* kReport = "savings.json";

 private:
  Folder(std::string path, bool kept) : path_(std::move(path)), kept_(kept) {}
  std::string path_;
  bool kept_ = false;
};

// Runs that are still going on have been ended by the pool; we end the way the signal would have ended us.
[[noreturn]] void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  raise(signal);
  _exit(128 + signal);
}

Result<void> keep_reports(const Folder& folder, const analysis::Savings& savings) {
  report::TextOptions const text{.width = 100, .unicode = true};
  for (auto const& [name, content] :
       {std::pair<std::string, std::string>{"savings.txt", report::savings_text(savings, text)},
        {"savings.md", report::savings_markdown(savings)},
        {"savings.html", report::savings_html(savings)},
        {"savings.svg", report::savings_svg(savings)},
        {Folder::kReport, report::savings_json(savings)}})
    if (auto saved = save({.path = folder.path() + "/" + name, .force = true}, content); !saved.ok()) return saved;
  return {};
}

std::string rendered(const analysis::Savings& savings, const std::string& format) {
  if (format == "json") return report::savings_json(savings);
  if (format == "md") return report::savings_markdown(savings);
  if (format == "html") return report::savings_html(savings);
  Screen const s = screen();
  return report::savings_text(savings,
                              {.width = std::max<std::size_t>(s.width, 90), .colour = s.colour, .unicode = s.unicode});
}

Result<analysis::Savings> measure(const SavingsModel& model, std::uint64_t budget_bytes, const TrainerPlace& place,
                                  const std::string& folder, int& interrupted) {
  Progress progress;
  Pool pool([&] { progress.tick(); });
  SavingsRequest const request{.model = model,
                               .budget_bytes = budget_bytes,
                               .folder = folder,
                               .place = place,
                               .places = std::max(1u, std::thread::hardware_concurrency())};
  auto savings = measure_savings(request, pool, progress);
  interrupted = pool.interrupted();
  return savings;
}

}  // namespace

Result<int> cmd_savings(Words words) {
  Options o;
  Arguments arguments(
      "savings", "Trains a model with each memory trick on and off, on the software device, and says what it saves.",
      kExamples);
  arguments.option(o.model, {"--model", "NAME", "mlp, vgg, resnet, unet (default), lstm, gru, gpt or bert"});
  arguments.option(o.budget, {"--budget", "SIZE", "the card that the largest batch is sought for (default 11GiB)"});
  arguments.option(o.format,
                   {"--format", "FORMAT", "text (default), json, md or html", {"text", "json", "md", "html"}});
  arguments.option(o.folder, {"-o,--output", "DIR", "keep the traces there, and the report in every format"});
  TIDEMARK_TRY(bool const go, arguments.parse(words));
  if (!go) return kOk;
  TIDEMARK_TRY(const SavingsModel* const model, model_of(o.model));
  TIDEMARK_TRY(std::uint64_t const budget_bytes, budget_of(o.budget));
  TIDEMARK_TRY(TrainerPlace const place, find_trainer());
  int interrupted = 0;
  Result<analysis::Savings> savings = Error{};
  {
    TIDEMARK_TRY(Folder const folder, Folder::make(o.folder));
    savings = measure(*model, budget_bytes, place, folder.path(), interrupted);
    if (savings.ok() && !folder.kept())
      for (analysis::SavingsRow& row : savings->rows) row.trace.clear();
    if (savings.ok() && folder.kept())
      if (auto kept = keep_reports(folder, *savings); !kept.ok()) return kept.error();
  }
  if (interrupted != 0) end_by(interrupted);
  if (!savings.ok()) return savings.error();
  // A page is for a browser: where it was kept it is not printed as well.
  if (o.format != "html" || o.folder.empty())
    if (auto printed = print(rendered(*savings, o.format)); !printed.ok()) return printed.error();
  if (!o.folder.empty()) talk("tidemark savings: traces and reports are in " + o.folder);
  if (auto const broken = report::broken_promises(*savings); !broken.empty())
    return Error{Errc::Corrupt, "a trick did not keep its promise: " + broken.front()->trick,
                 "that is a defect: please report it"};
  return kOk;
}

}  // namespace tidemark::cli
