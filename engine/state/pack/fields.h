// Packs and unpacks structs from one list of their fields, so that writing and reading cannot
// differ. A struct takes part through a function Fields, found by argument-dependent lookup or
// declared before its use:
//
//   template <SameAs<Scope> T> auto Fields(T& s) { return std::tie(s.kind, s.user_id); }
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "state/pack/pack.h"

namespace agent_graph::state::pack {

template <typename T, typename U>
concept SameAs = std::same_as<std::remove_const_t<T>, U>;

template <typename T>
void Pack(Packer& packer, const T& value);
template <typename T>
void Unpack(Unpacker& unpacker, T& value);

// Maximum number of items in one list; longer lists are treated as malformed.
inline constexpr size_t kItemsMax = 131'072;

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
  } else if constexpr (kIsVector<T>) {
    packer.Array(value.size());
    for (const auto& item : value) Pack(packer, item);
  } else {
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
  } else if constexpr (kIsVector<T>) {
    value.clear();
    size_t count = unpacker.Array();
    if (count > kItemsMax) unpacker.Fail();
    // Not reserved in advance: an item may need much more memory than its bytes.
    for (size_t i = 0; i < count && unpacker.ok(); ++i) Unpack(unpacker, value.emplace_back());
  } else {
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

// Returns false if the bytes are not exactly one value.
template <typename T>
[[nodiscard]] bool FromBytes(std::string_view bytes, T& value) {
  Unpacker unpacker(bytes);
  Unpack(unpacker, value);
  return unpacker.ok() && unpacker.at_end();
}

}  // namespace agent_graph::state::pack
