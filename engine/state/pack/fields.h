// Packs and unpacks structs from one list of their fields, so that writing and reading cannot
// differ. A struct takes part through a function Fields, found by argument-dependent lookup or
// declared before its use:
//
//   template <SameAs<Scope> T> auto Fields(T& s) { return std::tie(s.kind, s.user_id); }
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "state/pack/pack.h"

namespace agent_graph::state::pack {

template <typename T, typename U>
concept SameAs = std::same_as<std::remove_const_t<T>, U>;

template <typename T>
void Pack(Packer& packer, const T& value);
template <typename T>
void Unpack(Unpacker& unpacker, T& value);

// Does not compile if Fields leaves out a member of T: a structured binding must name all members.
template <typename T>
constexpr bool HasAllFields() {
  constexpr size_t kFields = std::tuple_size_v<decltype(Fields(std::declval<T&>()))>;
  static_assert(kFields <= 20, "extend this list");
  [[maybe_unused]] const auto check = [](T& s) {
    if constexpr (kFields == 0) {
      static_assert(std::is_empty_v<T>);
    } else if constexpr (kFields == 1) {
      [[maybe_unused]] auto& [a] = s;
    } else if constexpr (kFields == 2) {
      [[maybe_unused]] auto& [a, b] = s;
    } else if constexpr (kFields == 3) {
      [[maybe_unused]] auto& [a, b, c] = s;
    } else if constexpr (kFields == 4) {
      [[maybe_unused]] auto& [a, b, c, d] = s;
    } else if constexpr (kFields == 5) {
      [[maybe_unused]] auto& [a, b, c, d, e] = s;
    } else if constexpr (kFields == 6) {
      [[maybe_unused]] auto& [a, b, c, d, e, f] = s;
    } else if constexpr (kFields == 7) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g] = s;
    } else if constexpr (kFields == 8) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h] = s;
    } else if constexpr (kFields == 9) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i] = s;
    } else if constexpr (kFields == 10) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j] = s;
    } else if constexpr (kFields == 11) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
    } else if constexpr (kFields == 12) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    } else if constexpr (kFields == 13) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
    } else if constexpr (kFields == 14) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = s;
    } else if constexpr (kFields == 15) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = s;
    } else if constexpr (kFields == 16) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = s;
    } else if constexpr (kFields == 17) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = s;
    } else if constexpr (kFields == 18) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = s;
    } else if constexpr (kFields == 19) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t] = s;
    } else if constexpr (kFields == 20) {
      [[maybe_unused]] auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u] = s;
    }
  };
  return true;
}

// Maximum number of items in one list; longer lists are treated as malformed.
inline constexpr size_t kItemsMax = 131'072;
// Items for which memory is taken before they are read: more than most values have.
inline constexpr size_t kItemsReserved = 8;

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;

template <typename T>
void Pack(Packer& packer, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    packer.Bool(value);
  } else if constexpr (std::is_enum_v<T>) {
    packer.Unsigned(static_cast<uint64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    packer.Float(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    packer.Unsigned(value);
  } else if constexpr (std::is_signed_v<T>) {
    packer.Signed(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    packer.Text(value);
  } else if constexpr (kIsOptional<T>) {
    if (value) {
      Pack(packer, *value);
    } else {
      packer.Nil();
    }
  } else if constexpr (std::is_same_v<T, std::vector<uint64_t>>) {
    packer.Unsigneds(value);
  } else if constexpr (kIsVector<T>) {
    packer.Array(value.size());
    for (const auto& item : value) Pack(packer, item);
  } else {
    static_assert(HasAllFields<T>());
    std::apply(
        [&](const auto&... field) {
          packer.Array(sizeof...(field));
          (Pack(packer, field), ...);
        },
        Fields(value));
  }
}

template <typename T>
void Unpack(Unpacker& unpacker, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = unpacker.Bool();
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(unpacker.Float());
  } else if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {
    value = static_cast<T>(unpacker.Unsigned());
  } else if constexpr (std::is_signed_v<T>) {
    value = static_cast<T>(unpacker.Signed());
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = unpacker.Text();
  } else if constexpr (kIsOptional<T>) {
    value.reset();
    if (!unpacker.TakeNil()) Unpack(unpacker, value.emplace());
  } else if constexpr (std::is_same_v<T, std::vector<uint64_t>>) {
    value = unpacker.Unsigneds(kItemsMax);
  } else if constexpr (kIsVector<T>) {
    value.clear();
    size_t count = unpacker.Array();
    if (count > kItemsMax) unpacker.Fail();
    // A number takes little more memory than its bytes, other items may take much more.
    constexpr bool kIsNumbers = std::is_arithmetic_v<typename T::value_type>;
    if (unpacker.ok()) value.reserve(kIsNumbers ? count : std::min(count, kItemsReserved));
    for (size_t i = 0; i < count && unpacker.ok(); ++i) Unpack(unpacker, value.emplace_back());
  } else {
    static_assert(HasAllFields<T>());
    size_t count = unpacker.Array();
    std::apply(
        [&](auto&... field) {
          size_t index = 0;
          ((index++ < count ? Unpack(unpacker, field) : void()), ...);
          for (; index < count && unpacker.ok(); ++index) unpacker.Skip();
        },
        Fields(value));
  }
}

template <typename T>
std::string ToBytes(const T& value) {
  std::string bytes;
  bytes.reserve(sizeof(T));  // enough for most rows
  Packer packer(bytes);
  Pack(packer, value);
  return bytes;
}

// Returns false if the bytes at `unpacker` are malformed.
template <typename T>
[[nodiscard]] bool TryUnpack(Unpacker& unpacker, T& value) {
  Unpack(unpacker, value);
  return unpacker.ok();
}

// Returns false if the bytes are not exactly one value.
template <typename T>
[[nodiscard]] bool FromBytes(std::string_view bytes, T& value) {
  Unpacker unpacker(bytes);
  Unpack(unpacker, value);
  return unpacker.ok() && unpacker.at_end();
}

}  // namespace agent_graph::state::pack
