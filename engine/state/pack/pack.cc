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

}  // namespace

// Appends both at once: a row has up to hundreds of integers.
template <size_t kBytes>
void Packer::Marked(uint8_t marker, uint64_t value) {
  unsigned char item[1 + kBytes] = {marker};
  endian::endian_store<uint64_t, kBytes, endian::order::big>(item + 1, value);
  out_.append(reinterpret_cast<const char*>(item), sizeof item);
}

void Packer::Unsigned(uint64_t value) {
  if (value < 0x80) {
    out_.push_back(static_cast<char>(value));
  } else if (value <= 0xff) {
    Marked<1>(kUint8, value);
  } else if (value <= 0xffff) {
    Marked<2>(kUint16, value);
  } else if (value <= 0xffffffff) {
    Marked<4>(kUint32, value);
  } else {
    FixedUnsigned(value);
  }
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
  if (taken.empty()) return 0;
  return endian::endian_load<uint64_t, kBytes, endian::order::big>(
      reinterpret_cast<const unsigned char*>(taken.data()));
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
  uint8_t marker = Byte();
  if (marker < 0x80) return marker;
  switch (marker) {
    case kUint8:
      return BigEndian<1>();
    case kUint16:
      return BigEndian<2>();
    case kUint32:
      return BigEndian<4>();
    case kUint64:
      return BigEndian<8>();
    default:
      ok_ = false;
      return 0;
  }
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
