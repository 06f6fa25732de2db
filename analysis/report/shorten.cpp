// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/shorten.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

// Names are anything a program says: more than these are not worth the time, and are cut instead.
constexpr std::size_t kMostNames = 1000, kMostParts = 32, kMostRounds = 128;

struct Name {
  std::vector<std::string_view> parts;
  std::vector<bool> hidden;
};

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Name split(std::string_view text) {
  Name name;
  std::size_t begin = 0;  // of the part that is being read
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t const dot = std::min(text.find('.', at), text.size());
    std::size_t const next = dot + 1, after = next < text.size() ? std::min(text.find('.', next), text.size()) : dot;
    at = next;
    if (dot < text.size() && is_number(text.substr(next, after - next))) continue;
    name.parts.push_back(text.substr(begin, dot - begin));
    begin = next;
  }
  name.hidden.resize(name.parts.size());
  return name;
}

std::string joined(const Name& name, bool unicode) {
  std::string text;
  bool gap = false;
  for (std::size_t i = 0; i < name.parts.size(); ++i) {
    if (name.hidden[i]) {
      if (!gap) text += unicode ? "\u2026" : "..";
      gap = true;
      continue;
    }
    if (i > 0 && !gap) text += '.';
    gap = false;
    text += name.parts[i];
  }
  return text;
}

// Whether `other` has the same in this place.
bool alike(const Name& name, const Name& other, std::size_t part) {
  return other.parts.size() == name.parts.size() && other.parts[part] == name.parts[part];
}

class Shortening {
 public:
  Shortening(const std::vector<std::string>& names, Room room) : room_(room), texts_(names) {
    for (std::string const& text : names) names_.push_back(split(text));
    stuck_.resize(names.size());
    different_ = std::set<std::string>(names.begin(), names.end()).size();
  }

  std::vector<std::string> done() {
    for (std::size_t round = 0; round < kMostRounds; ++round) {
      std::size_t const widest = find_widest();
      if (widest == names_.size()) break;
      if (!hide_one(widest)) stuck_[widest] = true;
    }
    return std::move(texts_);
  }

 private:
  // Of those that do not fit and can be made shorter.
  std::size_t find_widest() const {
    std::size_t found = names_.size(), most = room_.columns;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::size_t const width = columns(texts_[i]);
      if (stuck_[i] || width <= most || names_[i].parts.size() > kMostParts) continue;
      found = i;
      most = width;
    }
    return found;
  }

  std::size_t sharers(const Name& name, std::size_t part) const {
    return static_cast<std::size_t>(
        std::count_if(names_.begin(), names_.end(), [&](const Name& n) { return alike(name, n, part); }));
  }

  // What most have in common goes first, from the left.
  bool hide_one(std::size_t which) {
    Name const name = names_[which];
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = 0; i < name.parts.size(); ++i)
      if (std::size_t const count = name.hidden[i] ? 0 : sharers(name, i); count > 1) order.emplace_back(count, i);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    return std::any_of(order.begin(), order.end(), [&](const auto& o) { return hide(name, o.second); });
  }

  bool hide(const Name& name, std::size_t part) {
    std::vector<Name> const names_before = names_;
    std::vector<std::string> const texts_before = texts_;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!alike(name, names_[i], part)) continue;
      names_[i].hidden[part] = true;
      texts_[i] = joined(names_[i], room_.unicode);
    }
    if (std::set<std::string>(texts_.begin(), texts_.end()).size() == different_) return true;
    names_ = names_before;
    texts_ = texts_before;
    return false;
  }

  Room room_;
  std::vector<std::string> texts_;
  std::vector<Name> names_;
  std::vector<bool> stuck_;
  std::size_t different_ = 0;
};

}  // namespace

std::vector<std::string> without_what_is_shared(const std::vector<std::string>& names, Room room) {
  bool const fits =
      std::all_of(names.begin(), names.end(), [&](const std::string& n) { return columns(n) <= room.columns; });
  if (fits || names.size() > kMostNames) return names;
  return Shortening(names, room).done();
}

}  // namespace tidemark::analysis::report
