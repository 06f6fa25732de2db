// SPDX-License-Identifier: Apache-2.0
// The process that the tests in this folder run in: the dynamic linker as glibc has it, the preloaded library's
// exports, the fake libraries' own functions.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <string>

#include "tests/integration/doors/fake/fake.h"

namespace tidemark::doors {

// glibc's dlsym, which nobody stands in front of.
inline void* plain_dlsym(void* handle, const char* name) {
  using Dlsym = void* (*)(void*, const char*);
  static auto const dlsym_of_glibc = [] {
    void* const libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void* const found = dlvsym(libc, "dlsym", "GLIBC_2.34");
    return reinterpret_cast<Dlsym>(found != nullptr ? found : dlvsym(libc, "dlsym", "GLIBC_2.2.5"));
  }();
  return dlsym_of_glibc(handle, name);
}

inline void* open_library(const char* name) {
  void* const handle = dlopen(name, RTLD_NOW);
  EXPECT_NE(handle, nullptr) << dlerror();
  return handle;
}

// The file that holds an address, without its folder.
inline std::string file_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0) return "";
  std::string const path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

// The preloaded library that is tested: what TIDEMARK_TESTED names.
inline std::string tested_file() {
  const char* const path = std::getenv("TIDEMARK_TESTED");
  std::string const text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);
}
inline bool is_hook(const void* address) {
  return !tested_file().empty() && file_of(address) == tested_file();
}
// A name that it exports.
inline void* exported(const char* name, const char* version = "TIDEMARK_1") {
  static void* const handle = dlopen(std::getenv("TIDEMARK_TESTED"), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(handle, nullptr) << "run this with the library preloaded, and its path in TIDEMARK_TESTED";
  return dlvsym(handle, name, version);
}

// One of the fake libraries.
class Fake {
 public:
  explicit Fake(const char* name) : name_(name), handle_(open_library(name)) {
    calls_ = function<decltype(&fake_calls)>("fake_calls");
    forget_ = function<decltype(&fake_forget)>("fake_forget");
    override_ = function<decltype(&fake_override)>("fake_override");
    looks_up_ = function<decltype(&fake_looks_up)>("fake_looks_up");
  }
  void* handle() const { return handle_; }
  int calls(FakeCall& last) const { return calls_(&last); }
  void forget() const { forget_(); }
  // Another function in the place of one, until the object goes.
  class Replaced {
   public:
    Replaced(decltype(&fake_override) set, const char* symbol, void* with)
        : set_(set), symbol_(symbol), before_(set(symbol, with)) {}
    Replaced(const Replaced&) = delete;
    Replaced& operator=(const Replaced&) = delete;
    ~Replaced() { set_(symbol_, before_); }
    void* before() const { return before_; }

   private:
    decltype(&fake_override) set_;
    const char* symbol_;
    void* before_;
  };
  template <class F>
  [[nodiscard]] Replaced replace(const char* symbol, F* with) const {
    return {override_, symbol, reinterpret_cast<void*>(with)};
  }
  decltype(&fake_override) override_function() const { return override_; }
  void* own(const char* symbol) const { return plain_dlsym(handle_, symbol); }
  void* looks_up(const char* symbol) const { return looks_up_(name_, symbol); }

 private:
  template <class F>
  F function(const char* name) {
    return reinterpret_cast<F>(own(name));
  }
  const char* name_;
  void* handle_;
  decltype(&fake_calls) calls_;
  decltype(&fake_forget) forget_;
  decltype(&fake_override) override_;
  decltype(&fake_looks_up) looks_up_;
};

}  // namespace tidemark::doors
