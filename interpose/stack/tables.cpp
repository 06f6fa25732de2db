// SPDX-License-Identifier: Apache-2.0
#include "interpose/stack/tables.h"

#include <optional>

#include "interpose/stack/bytes.h"

namespace tidemark::interpose {
namespace {

// DWARF's numbers on x86-64.
constexpr std::uint64_t kRbp = 6, kRsp = 7, kReturn = 16;
constexpr std::uint8_t kOpDeref = 0x06, kOpFromRbp = 0x76, kOpFromRsp = 0x77;
constexpr std::int64_t kReturnOffset = -8;

struct Saved {
  enum How : std::uint8_t { Same, Undefined, FromCfa, FromRbp, Other } how = Same;
  std::int64_t offset = 0;
};

// A row of the table, as far as it matters.
struct Row {
  enum How : std::uint8_t { FromRegister, AtRbp, Other } cfa = Other;
  std::uint64_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  Saved rbp, returns;
};

struct Cie {
  std::uint64_t code_align = 1;
  std::int64_t data_align = 1;
  std::uint8_t encoding = kAbsolute;
  bool augmented = false;
  bool signal = false;
  const std::byte *instructions = nullptr, *end = nullptr;
};

struct Fde {
  Cie cie;
  std::uintptr_t begin = 0, end = 0;
  const std::byte *instructions = nullptr, *instructions_end = nullptr;
};

// The length in front of every entry, and a reader of what it spans.
std::optional<ByteReader> entry_at(const std::byte* at) {
  constexpr std::uint32_t kLong = 0xffffffff;
  ByteReader head(at, at + 12);
  std::uint64_t length = head.fixed<std::uint32_t>();
  if (length == kLong) length = head.fixed<std::uint64_t>();
  if (length == 0 || length > std::uint64_t{1} << 32) return std::nullopt;
  return ByteReader(head.at(), head.at() + length);
}

std::optional<Cie> read_cie(const std::byte* at) {
  auto entry = entry_at(at);
  if (!entry || entry->fixed<std::uint32_t>() != 0) return std::nullopt;
  Cie cie;
  auto const version = entry->fixed<std::uint8_t>();
  if (version != 1 && version != 3) return std::nullopt;
  auto const* const augmentation = reinterpret_cast<const char*>(entry->at());
  while (entry->fixed<char>() != '\0') {
  }
  cie.code_align = entry->uleb();
  cie.data_align = entry->sleb();
  std::uint64_t const column = version == 1 ? entry->fixed<std::uint8_t>() : entry->uleb();
  if (!entry->ok() || column != kReturn) return std::nullopt;
  if (augmentation[0] == 'z') {
    cie.augmented = true;
    std::uint64_t const length = entry->uleb();
    ByteReader data(entry->at(), entry->end());
    entry->skip(length);
    for (const char* letter = augmentation + 1; *letter != '\0'; ++letter) switch (*letter) {
        case 'R': cie.encoding = data.fixed<std::uint8_t>(); break;
        case 'L': data.skip(1); break;
        case 'P': {
          auto const encoding = data.fixed<std::uint8_t>();
          data.pointer(encoding & 0x0f, nullptr);  // whose it is does not matter, only how long it is
          break;
        }
        case 'S': cie.signal = true; break;
        case 'B': break;  // AArch64's
        default: return std::nullopt;
      }
    if (!data.ok()) return std::nullopt;
  } else if (augmentation[0] != '\0') {
    return std::nullopt;
  }
  cie.instructions = entry->at();
  cie.end = entry->end();
  return entry->ok() ? std::optional(cie) : std::nullopt;
}

std::optional<Fde> read_fde(const std::byte* at) {
  auto entry = entry_at(at);
  if (!entry) return std::nullopt;
  const std::byte* const here = entry->at();
  auto const back = entry->fixed<std::uint32_t>();
  if (back == 0) return std::nullopt;  // a CIE
  auto const cie = read_cie(here - back);
  if (!cie) return std::nullopt;
  Fde fde{.cie = *cie};
  fde.begin = entry->pointer(cie->encoding, nullptr);
  fde.end = fde.begin + entry->pointer(cie->encoding & 0x0f, nullptr);
  if (cie->augmented) entry->skip(entry->uleb());
  fde.instructions = entry->at();
  fde.instructions_end = entry->end();
  return entry->ok() ? std::optional(fde) : std::nullopt;
}

// The entry that covers an instruction, by the sorted table: pairs of a function's beginning and its entry, both 32
// bits relative to the header, as every linker writes them.
std::optional<Fde> find_fde(const std::byte* header, std::uintptr_t instruction) {
  constexpr std::uint8_t kTable = kFromData | kSdata4;
  ByteReader reader(header, header + 64);
  if (reader.fixed<std::uint8_t>() != 1) return std::nullopt;
  auto const frame_encoding = reader.fixed<std::uint8_t>(), count_encoding = reader.fixed<std::uint8_t>(),
             table_encoding = reader.fixed<std::uint8_t>();
  if (table_encoding != kTable || count_encoding == kOmitted) return std::nullopt;
  reader.pointer(frame_encoding, header);
  std::uint64_t count = reader.pointer(count_encoding, header);
  if (!reader.ok() || count == 0) return std::nullopt;
  const std::byte* first = reader.at();
  auto const number = [](const std::byte* at) {
    std::int32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  auto const wanted = static_cast<std::int64_t>(instruction - reinterpret_cast<std::uintptr_t>(header));
  if (wanted < number(first)) return std::nullopt;
  while (count > 1) {
    std::uint64_t const half = count / 2;
    if (number(first + 8 * half) <= wanted) first += 8 * half;
    count -= half;
  }
  auto fde = read_fde(header + number(first + 4));
  if (!fde || instruction < fde->begin || instruction >= fde->end) return std::nullopt;
  return fde;
}

// Runs the instructions of an entry up to the row of one instruction of the program.
class Machine {
 public:
  Machine(const Fde& fde, std::uintptr_t instruction) : cie_(fde.cie), location_(fde.begin), wanted_(instruction) {
    run(cie_.instructions, cie_.end);
    initial_ = row_;
    run(fde.instructions, fde.instructions_end);
  }
  // Nothing where an instruction was not understood.
  std::optional<Row> row() const { return ok_ ? std::optional(row_) : std::nullopt; }

 private:
  void run(const std::byte* begin, const std::byte* end) {
    ByteReader code(begin, end);
    while (ok_ && !code.done() && location_ <= wanted_) {
      auto const op = code.fixed<std::uint8_t>();
      std::uint8_t const low = op & 0x3f;
      switch (op >> 6) {
        case 1: location_ += low * cie_.code_align; break;
        case 2: save(low, Saved::FromCfa, static_cast<std::int64_t>(code.uleb()) * cie_.data_align); break;
        case 3: restore(low); break;
        default: extended(op, code); break;
      }
      ok_ = ok_ && code.ok();
    }
  }

  void extended(std::uint8_t op, ByteReader& code) {
    switch (op) {
      case 0x00: break;
      case 0x01: location_ = code.pointer(cie_.encoding, nullptr); break;
      case 0x02: location_ += code.fixed<std::uint8_t>() * cie_.code_align; break;
      case 0x03: location_ += code.fixed<std::uint16_t>() * cie_.code_align; break;
      case 0x04: location_ += code.fixed<std::uint32_t>() * cie_.code_align; break;
      case 0x05: {
        std::uint64_t const which = code.uleb();
        save(which, Saved::FromCfa, static_cast<std::int64_t>(code.uleb()) * cie_.data_align);
        break;
      }
      case 0x06: restore(code.uleb()); break;
      case 0x07: save(code.uleb(), Saved::Undefined); break;
      case 0x08: save(code.uleb(), Saved::Same); break;
      case 0x09:
        save(code.uleb(), Saved::Other);
        code.uleb();
        break;
      case 0x0a: remember(); break;
      case 0x0b: recall(); break;
      default: definition(op, code); break;
    }
  }

  void definition(std::uint8_t op, ByteReader& code) {
    switch (op) {
      case 0x0c:
        row_.cfa = Row::FromRegister;
        row_.cfa_register = code.uleb();
        row_.cfa_offset = static_cast<std::int64_t>(code.uleb());
        break;
      case 0x12:
        row_.cfa = Row::FromRegister;
        row_.cfa_register = code.uleb();
        row_.cfa_offset = code.sleb() * cie_.data_align;
        break;
      case 0x0d:
        row_.cfa = Row::FromRegister;
        row_.cfa_register = code.uleb();
        break;
      case 0x0e: row_.cfa_offset = static_cast<std::int64_t>(code.uleb()); break;
      case 0x13: row_.cfa_offset = code.sleb() * cie_.data_align; break;
      case 0x0f: cfa_expression(block(code)); break;
      case 0x10: {
        std::uint64_t const which = code.uleb();
        saved_expression(which, block(code));
        break;
      }
      case 0x11: {
        std::uint64_t const which = code.uleb();
        save(which, Saved::FromCfa, code.sleb() * cie_.data_align);
        break;
      }
      case 0x14:
      case 0x15:
        save(code.uleb(), Saved::Other);
        code.uleb();  // as long as the signed one
        break;
      case 0x16:
        save(code.uleb(), Saved::Other);
        block(code);
        break;
      case 0x2e: code.uleb(); break;  // how much is pushed for a call: of use to exceptions only
      default: ok_ = false; break;
    }
  }

  static ByteReader block(ByteReader& code) {
    std::uint64_t const length = code.uleb();
    const std::byte* const begin = code.at();
    code.skip(length);
    return code.ok() ? ByteReader(begin, begin + length) : ByteReader(begin, begin);
  }

  // Functions that align their stack keep the way back in a slot that rbp points near to.
  void cfa_expression(ByteReader code) {
    row_.cfa = Row::Other;
    auto const from = code.fixed<std::uint8_t>();
    std::int64_t const offset = code.sleb();
    if (!code.ok() || (from != kOpFromRbp && from != kOpFromRsp)) return;
    row_.cfa_offset = offset;
    row_.cfa_register = from == kOpFromRbp ? kRbp : kRsp;
    if (code.done()) row_.cfa = Row::FromRegister;
    if (from == kOpFromRbp && code.fixed<std::uint8_t>() == kOpDeref && code.done()) row_.cfa = Row::AtRbp;
  }
  void saved_expression(std::uint64_t which, ByteReader code) {
    bool const from_rbp = code.fixed<std::uint8_t>() == kOpFromRbp;
    std::int64_t const offset = code.sleb();
    if (from_rbp && code.ok() && code.done())
      save(which, Saved::FromRbp, offset);
    else
      save(which, Saved::Other);
  }

  Saved* slot(Row& row, std::uint64_t which) {
    return which == kRbp ? &row.rbp : which == kReturn ? &row.returns : nullptr;
  }
  void save(std::uint64_t which, Saved::How how, std::int64_t offset = 0) {
    if (Saved* const to = slot(row_, which)) *to = {how, offset};
  }
  void restore(std::uint64_t which) {
    if (Saved* const to = slot(row_, which)) *to = *slot(initial_, which);
  }
  void remember() {
    if (depth_ == kDepth) {
      ok_ = false;
      return;
    }
    remembered_[depth_++] = row_;
  }
  void recall() {
    if (depth_ == 0) {
      ok_ = false;
      return;
    }
    row_ = remembered_[--depth_];
  }

  static constexpr int kDepth = 16;
  const Cie& cie_;
  std::uintptr_t location_, wanted_;
  Row row_, initial_, remembered_[kDepth];
  int depth_ = 0;
  bool ok_ = true;
};

bool fits(std::int64_t value, unsigned bits) {
  return value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1);
}

Rule pack(const Row& row) {
  if (row.returns.how == Saved::Undefined) return Rule::Outermost;
  Rule::Parts rule{.kind = Rule::Frame};
  bool simple = row.returns.how == Saved::FromCfa && row.returns.offset == kReturnOffset && fits(row.cfa_offset, 32) &&
                fits(row.rbp.offset, 24);
  switch (row.cfa) {
    case Row::FromRegister:
      rule.cfa = row.cfa_register == kRbp ? Rule::FromRbp : Rule::FromRsp;
      simple = simple && (row.cfa_register == kRbp || row.cfa_register == kRsp);
      break;
    case Row::AtRbp: rule.cfa = Rule::AtRbp; break;
    default: simple = false; break;
  }
  switch (row.rbp.how) {
    // Undefined: who called does not use it either.
    case Saved::Same:
    case Saved::Undefined: rule.rbp = Rule::Kept; break;
    case Saved::FromCfa: rule.rbp = Rule::SavedFromCfa; break;
    case Saved::FromRbp: rule.rbp = Rule::SavedFromRbp; break;
    default: simple = false; break;
  }
  if (!simple) return Rule::Complex;
  rule.cfa_offset = row.cfa_offset;
  rule.rbp_offset = row.rbp.offset;
  return rule;
}

}  // namespace

Rule rule_in_tables(const std::byte* eh_frame_hdr, std::uintptr_t instruction) {
  constexpr Rule kUnknown = Rule::Unknown;
  if (eh_frame_hdr == nullptr) return kUnknown;
  auto const fde = find_fde(eh_frame_hdr, instruction);
  if (!fde) return kUnknown;
  if (fde->cie.signal) return Rule::Signal;
  // What is not understood here the compiler's unwinder may not understand either, and it would end the program then.
  auto const row = Machine(*fde, instruction).row();
  return row ? pack(*row) : kUnknown;
}

}  // namespace tidemark::interpose
