#include "state/pack/pack.h"

#include <bit>
#include <boost/endian/conversion.hpp>

namespace agent_graph::state::pack {
namespace {

namespace endian = boost::endian;

enum Marker : uint8_t {
  kNil = 0xc0,
  kFalse = 0xc2,
  kTrue = 0xc3,
  kFloat64 = 0xcb,
  kUint8 = 0xcc,
  kUint16 = 0xcd,
  kUint32 = 0xce,
  kUint64 = 0xcf,
  kInt64 = 0xd3,
  kText8 = 0xd9,
  kText16 = 0xda,
  kText32 = 0xdb,
  kArray16 = 0xdc,
  kArray32 = 0xdd,
};

constexpr size_t kUnsignedBytesMax = 9;

// Writes a marker and the lowest bytes of the value, and returns the place behind them.
template <size_t kBytes>
char* Put(char* out, uint8_t marker, uint64_t value) {
  *out = static_cast<char>(marker);
  endian::endian_store<uint64_t, kBytes, endian::order::big>(
      reinterpret_cast<unsigned char*>(out + 1), value);
  return out + 1 + kBytes;
}

// Writes at most kUnsignedBytesMax bytes, and returns the place behind them.
inline char* PutUnsigned(char* out, uint64_t value) {
  if (value < 0x80) {
    *out = static_cast<char>(value);
    return out + 1;
  }
  if (value <= 0xff) return Put<1>(out, kUint8, value);
  if (value <= 0xffff) return Put<2>(out, kUint16, value);
  if (value <= 0xffffffff) return Put<4>(out, kUint32, value);
  return Put<8>(out, kUint64, value);
}

template <size_t kBytes>
const char* Get(const char* at, const char* end, uint64_t& value) {
  if (end - at < static_cast<ptrdiff_t>(kBytes)) return nullptr;
  value = endian::endian_load<uint64_t, kBytes, endian::order::big>(
      reinterpret_cast<const unsigned char*>(at));
  return at + kBytes;
}

// Returns the place behind the value at `at`; null: there is none.
inline const char* GetUnsigned(const char* at, const char* end, uint64_t& value) {
  if (at == end) return nullptr;
  const auto marker = static_cast<uint8_t>(*at++);
  switch (marker) {
    case kUint8:
      return Get<1>(at, end, value);
    case kUint16:
      return Get<2>(at, end, value);
    case kUint32:
      return Get<4>(at, end, value);
    case kUint64:
      return Get<8>(at, end, value);
    default:
      value = marker;
      return marker < 0x80 ? at : nullptr;
  }
}

}  // namespace

// Appends both at once: a row has up to hundreds of integers.
template <size_t kBytes>
void Packer::Marked(uint8_t marker, uint64_t value) {
  char item[1 + kBytes];
  Put<kBytes>(item, marker, value);
  out_.append(item, sizeof item);
}

void Packer::Unsigned(uint64_t value) {
  if (value < 0x80) return out_.push_back(static_cast<char>(value));
  char item[kUnsignedBytesMax];
  out_.append(item, static_cast<size_t>(PutUnsigned(item, value) - item));
}

void Packer::Unsigneds(std::span<const uint64_t> values) {
  Array(values.size());
  const size_t before = out_.size();
  out_.resize(before + values.size() * kUnsignedBytesMax);
  char* end = out_.data() + before;
  for (const uint64_t value : values) end = PutUnsigned(end, value);
  out_.resize(static_cast<size_t>(end - out_.data()));
}

void Packer::FixedUnsigned(uint64_t value) {
  Marked<8>(kUint64, value);
}

void Packer::Signed(int64_t value) {
  if (value >= 0) return Unsigned(static_cast<uint64_t>(value));
  Marked<8>(kInt64, static_cast<uint64_t>(value));
}

void Packer::Float(double value) {
  Marked<8>(kFloat64, std::bit_cast<uint64_t>(value));
}

void Packer::Text(std::string_view value) {
  if (value.size() < 32) {
    out_.push_back(static_cast<char>(0xa0 | value.size()));
  } else if (value.size() <= 0xff) {
    Marked<1>(kText8, value.size());
  } else if (value.size() <= 0xffff) {
    Marked<2>(kText16, value.size());
  } else {
    Marked<4>(kText32, value.size());
  }
  out_.append(value);
}

void Packer::Array(size_t count) {
  if (count < 16) {
    out_.push_back(static_cast<char>(0x90 | count));
  } else if (count <= 0xffff) {
    Marked<2>(kArray16, count);
  } else {
    Marked<4>(kArray32, count);
  }
}

void PatchFixedUnsigned(std::string& bytes, size_t position, uint64_t value) {
  endian::store_big_u64(reinterpret_cast<unsigned char*>(&bytes[position + 1]), value);
}

uint8_t Unpacker::Byte() {
  if (!ok_ || position_ >= bytes_.size()) {
    ok_ = false;
    return 0;
  }
  return static_cast<uint8_t>(bytes_[position_++]);
}

std::string_view Unpacker::Take(size_t count) {
  if (!ok_ || count > remaining()) {
    ok_ = false;
    return {};
  }
  std::string_view taken = bytes_.substr(position_, count);
  position_ += count;
  return taken;
}

template <size_t kBytes>
uint64_t Unpacker::BigEndian() {
  const std::string_view taken = Take(kBytes);
  uint64_t value = 0;
  Get<kBytes>(taken.data(), taken.data() + taken.size(), value);
  return value;
}

bool Unpacker::TakeNil() {
  if (!ok_ || position_ >= bytes_.size() || static_cast<uint8_t>(bytes_[position_]) != kNil) {
    return false;
  }
  ++position_;
  return true;
}

bool Unpacker::Bool() {
  uint8_t marker = Byte();
  if (marker != kTrue && marker != kFalse) ok_ = false;
  return ok_ && marker == kTrue;
}

uint64_t Unpacker::Unsigned() {
  if (!ok_) return 0;
  uint64_t value = 0;
  const char* const next =
      GetUnsigned(bytes_.data() + position_, bytes_.data() + bytes_.size(), value);
  ok_ = next != nullptr;
  if (!ok_) return 0;
  position_ = static_cast<size_t>(next - bytes_.data());
  return value;
}

int64_t Unpacker::Signed() {
  if (remaining() > 0 && static_cast<uint8_t>(bytes_[position_]) == kInt64) {
    ++position_;
    return static_cast<int64_t>(BigEndian<8>());
  }
  return static_cast<int64_t>(Unsigned());
}

double Unpacker::Float() {
  if (Byte() != kFloat64) ok_ = false;
  return std::bit_cast<double>(BigEndian<8>());
}

std::string_view Unpacker::Text() {
  uint8_t marker = Byte();
  if ((marker & 0xe0) == 0xa0) return Take(marker & 0x1f);
  switch (marker) {
    case kText8:
      return Take(BigEndian<1>());
    case kText16:
      return Take(BigEndian<2>());
    case kText32:
      return Take(BigEndian<4>());
    default:
      ok_ = false;
      return {};
  }
}

size_t Unpacker::Array() {
  uint8_t marker = Byte();
  size_t count = 0;
  if ((marker & 0xf0) == 0x90) {
    count = marker & 0x0f;
  } else if (marker == kArray16) {
    count = BigEndian<2>();
  } else if (marker == kArray32) {
    count = BigEndian<4>();
  } else {
    ok_ = false;
  }
  if (count > remaining()) ok_ = false;
  return ok_ ? count : 0;
}

std::vector<uint64_t> Unpacker::Unsigneds(size_t count_max) {
  const size_t count = Array();
  if (count > count_max) ok_ = false;
  if (!ok_) return {};
  std::vector<uint64_t> values(count);
  const char* next = bytes_.data() + position_;
  const char* const end = bytes_.data() + bytes_.size();
  for (uint64_t& value : values) {
    next = GetUnsigned(next, end, value);
    if (next == nullptr) {
      ok_ = false;
      return {};
    }
  }
  position_ = static_cast<size_t>(next - bytes_.data());
  return values;
}

void Unpacker::Skip() {
  // `pending` is the number of items left to skip; arrays add their items, which avoids recursion.
  for (size_t pending = 1; pending > 0 && ok_; --pending) {
    const uint8_t marker =
        remaining() > 0 ? static_cast<uint8_t>(bytes_[position_]) : uint8_t{kNil};
    if ((marker & 0xf0) == 0x90 || marker == kArray16 || marker == kArray32) {
      pending += Array();
    } else if ((marker & 0xe0) == 0xa0 || (marker >= kText8 && marker <= kText32)) {
      Text();
    } else if (marker == kTrue || marker == kFalse) {
      Bool();
    } else if (marker == kFloat64) {
      Float();
    } else if (marker != kNil) {
      Signed();
    } else if (!TakeNil()) {
      ok_ = false;
    }
  }
}

}  // namespace agent_graph::state::pack
