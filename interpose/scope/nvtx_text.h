// SPDX-License-Identifier: Apache-2.0
// A range's message as text, in whatever form the program gave it.
#pragma once
#include <cstddef>
#include <string_view>

#include "interpose/scope/nvtx_ranges.h"
#include "interpose/scope/nvtx_texts.h"
#include "interpose/scope/nvtx_types.h"

namespace tidemark::interpose {

// Valid as long as this object and the message are. Empty where there is no message, or none that can be read.
class NvtxText {
 public:
  explicit NvtxText(const wchar_t* message) { set(message); }
  explicit NvtxText(const nvtxEventAttributes_t* event);
  NvtxText(const NvtxText&) = delete;
  NvtxText& operator=(const NvtxText&) = delete;

  std::string_view view() const { return view_; }

 private:
  // As UTF-8, cut to what fits.
  void set(const wchar_t* message);

  std::string_view view_;
  char converted_[256];
};

NvtxTexts& nvtx_texts();
// A domain by its handle.
NvtxDomain nvtx_domain(nvtxDomainHandle_t handle);

}  // namespace tidemark::interpose
