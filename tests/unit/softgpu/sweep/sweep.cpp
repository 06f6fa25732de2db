// SPDX-License-Identifier: Apache-2.0
// Calls every entry point of a library with arguments that mean nothing: once with zeros, once with the address of
// foreign memory in every place (a handle that is none, an ordinal and a size beyond everything). Nothing may crash or
// hang, and nothing may succeed unless the list of expected successes says so.
//   sweep LIBRARY NAMES EXPECTED [WITH...]   WITH: functions NAME(0) to call first, as `cuInit` or `@cudaFree`
// Each call has a process of its own, which begins with a device as its library's clients have it.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Word = std::uint64_t;
// Enough for every signature: what a function does not take is ignored, structures by value lie among the last.
using EntryPoint = int (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                           Word, Word, Word, Word, Word, Word, Word, Word, Word);

// The i-th argument is first + i * step.
struct Arguments {
  Word first = 0, step = 0;
  Word operator[](unsigned i) const { return first + i * step; }
};

int call(void* function, Arguments a) {
  return reinterpret_cast<EntryPoint>(function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
                                                a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20],
                                                a[21], a[22], a[23]);
}

constexpr unsigned kSeconds = 60;

struct Answer {
  bool lived = false;
  int value = 0;
  std::string how;  // it died
};

struct Library {
  void* handle;
  std::vector<std::string> first;
};

void prepare(const Library& library) {
  for (std::string const& name : library.first)
    if (void* const function = dlsym(library.handle, name.c_str())) call(function, {});
  // A current context for libraries that have no such thing of their own.
  using Retain = int (*)(void**, int);
  using Set = int (*)(void*);
  auto const retain = reinterpret_cast<Retain>(dlsym(library.handle, "cuDevicePrimaryCtxRetain"));
  auto const set = reinterpret_cast<Set>(dlsym(library.handle, "cuCtxSetCurrent"));
  void* context = nullptr;
  if (retain != nullptr && set != nullptr && retain(&context, 0) == 0) set(context);
}

Answer ask(const Library& library, void* function, Arguments arguments) {
  int ends[2];
  if (pipe(ends) != 0) return {.how = "no pipe"};
  pid_t const child = fork();
  if (child == 0) {
    rlimit const no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    prepare(library);
    alarm(kSeconds);
    int const value = call(function, arguments);
    _exit(write(ends[1], &value, sizeof value) == sizeof value ? 0 : 1);
  }
  close(ends[1]);
  Answer answer;
  answer.lived = read(ends[0], &answer.value, sizeof answer.value) == sizeof answer.value;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!answer.lived) answer.how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended the process";
  return answer;
}

// Lines "name zeros", "name foreign" or "name both" for what may succeed, "name any" for what returns nothing, and
// "name skip". "@older any": what has a successor NAME_v2 may return nothing at all, and so answer anything. Comments
// after '#'. A name stands for its per-thread twin too.
std::map<std::string, std::string> read_expected(const char* path) {
  std::map<std::string, std::string> expected;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, with;
    if (words >> name >> with) expected[name] = with;
  }
  return expected;
}

std::string without_twin(const std::string& name) {
  for (std::string_view const suffix : {"_ptsz", "_ptds"})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return name;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  Library library{dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL), {argv + 4, argv + argc}};
  if (library.handle == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  // What each of them would open otherwise, in every process anew.
  dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto expected = read_expected(argv[3]);
  constexpr std::size_t kStep = 64 << 10;
  void* const memory = mmap(nullptr, 25 * kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Arguments const zeros, foreign{reinterpret_cast<Word>(memory), kStep};
  bool const older_answer_anything = expected["@older"] == "any";
  int calls = 0, faults = 0;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // nothing is left in it for a child to write again
  std::ifstream names(argv[2]);
  for (std::string name; names >> name;) {
    void* const function = dlsym(library.handle, name.c_str());
    std::string const listed = expected[expected.contains(name) ? name : without_twin(name)];
    // What begins with underscores is the compiler's to call.
    if (function == nullptr || name.starts_with("__") || listed == "skip") continue;
    for (std::string const with : {"zeros", "foreign"}) {
      Answer const answer = ask(library, function, with == "zeros" ? zeros : foreign);
      bool const may_succeed = listed == with || listed == "both";
      ++calls;
      if (answer.lived && (listed == "any" || (answer.value != 0) != may_succeed)) continue;
      bool const older = dlsym(library.handle, (name + "_v2").c_str()) != nullptr;
      if (answer.lived && older && older_answer_anything) continue;
      ++faults;
      std::printf("%s %s  # %s\n", name.c_str(), with.c_str(),
                  !answer.lived ? answer.how.c_str()
                  : may_succeed ? "refused, though the list expects success"
                                : "success");
    }
  }
  std::printf("%d calls, %d faults\n", calls, faults);
  return calls == 0 || faults != 0 ? 1 : 0;
}
