#include "state/pack/pack.h"

#include <bit>

namespace agent_graph::state::pack {
namespace {

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

void Packer::BigEndian(uint64_t value, int bytes) {
  char text[8];
  for (int i = 0; i < bytes; ++i) text[i] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
  out_.append(text, static_cast<size_t>(bytes));
}

void Packer::Unsigned(uint64_t value) {
  if (value < 0x80) {
    out_.push_back(static_cast<char>(value));
  } else if (value <= 0xff) {
    out_.push_back(static_cast<char>(kUint8));
    BigEndian(value, 1);
  } else if (value <= 0xffff) {
    out_.push_back(static_cast<char>(kUint16));
    BigEndian(value, 2);
  } else if (value <= 0xffffffff) {
    out_.push_back(static_cast<char>(kUint32));
    BigEndian(value, 4);
  } else {
    FixedUnsigned(value);
  }
}

void Packer::FixedUnsigned(uint64_t value) {
  out_.push_back(static_cast<char>(kUint64));
  BigEndian(value, 8);
}

void Packer::Signed(int64_t value) {
  if (value >= 0) return Unsigned(static_cast<uint64_t>(value));
  out_.push_back(static_cast<char>(kInt64));
  BigEndian(static_cast<uint64_t>(value), 8);
}

void Packer::Float(double value) {
  out_.push_back(static_cast<char>(kFloat64));
  BigEndian(std::bit_cast<uint64_t>(value), 8);
}

void Packer::Text(std::string_view value) {
  if (value.size() < 32) {
    out_.push_back(static_cast<char>(0xa0 | value.size()));
  } else if (value.size() <= 0xff) {
    out_.push_back(static_cast<char>(kText8));
    BigEndian(value.size(), 1);
  } else if (value.size() <= 0xffff) {
    out_.push_back(static_cast<char>(kText16));
    BigEndian(value.size(), 2);
  } else {
    out_.push_back(static_cast<char>(kText32));
    BigEndian(value.size(), 4);
  }
  out_.append(value);
}

void Packer::Array(size_t count) {
  if (count < 16) {
    out_.push_back(static_cast<char>(0x90 | count));
  } else if (count <= 0xffff) {
    out_.push_back(static_cast<char>(kArray16));
    BigEndian(count, 2);
  } else {
    out_.push_back(static_cast<char>(kArray32));
    BigEndian(count, 4);
  }
}

void PatchFixedUnsigned(std::string& bytes, size_t position, uint64_t value) {
  for (int i = 0; i < 8; ++i) {
    bytes[position + 1 + static_cast<size_t>(i)] = static_cast<char>(value >> (56 - 8 * i));
  }
}

uint8_t Unpacker::Byte() {
  if (!ok_ || position_ >= bytes_.size()) {
    ok_ = false;
    return 0;
  }
  return static_cast<uint8_t>(bytes_[position_++]);
}

uint64_t Unpacker::BigEndian(int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | Byte();
  return ok_ ? value : 0;
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
      return BigEndian(1);
    case kUint16:
      return BigEndian(2);
    case kUint32:
      return BigEndian(4);
    case kUint64:
      return BigEndian(8);
    default:
      ok_ = false;
      return 0;
  }
}

int64_t Unpacker::Signed() {
  if (remaining() > 0 && static_cast<uint8_t>(bytes_[position_]) == kInt64) {
    ++position_;
    return static_cast<int64_t>(BigEndian(8));
  }
  return static_cast<int64_t>(Unsigned());
}

double Unpacker::Float() {
  if (Byte() != kFloat64) ok_ = false;
  return std::bit_cast<double>(BigEndian(8));
}

std::string_view Unpacker::Text() {
  uint8_t marker = Byte();
  if ((marker & 0xe0) == 0xa0) return Take(marker & 0x1f);
  switch (marker) {
    case kText8:
      return Take(BigEndian(1));
    case kText16:
      return Take(BigEndian(2));
    case kText32:
      return Take(BigEndian(4));
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
    count = BigEndian(2);
  } else if (marker == kArray32) {
    count = BigEndian(4);
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
