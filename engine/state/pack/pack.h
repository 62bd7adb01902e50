// The subset of MessagePack that rows and frames use: nil, bool, integers, floats, text, arrays.
//
// Our structs are packed as arrays of their fields in order. A reader sets missing trailing fields
// to their defaults and skips extra ones, so that two versions of the program can exchange frames
// and read each other's rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::state::pack {

// Appends packed values to a string that the caller owns. Not thread-safe.
class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  void Nil() { out_.push_back(static_cast<char>(0xc0)); }
  void Bool(bool value) { out_.push_back(static_cast<char>(value ? 0xc3 : 0xc2)); }
  void Unsigned(uint64_t value);
  // Always nine bytes, so that PatchFixedUnsigned can replace the value later.
  void FixedUnsigned(uint64_t value);
  void Signed(int64_t value);
  void Float(double value);
  void Text(std::string_view value);
  void Array(size_t count);
  // An array of the values. Much faster than one call for each of them.
  void Unsigneds(std::span<const uint64_t> values);

 private:
  // A marker, and the lowest bytes of the value in big-endian order.
  template <size_t kBytes>
  void Marked(uint8_t marker, uint64_t value);

  std::string& out_;
};

// Overwrites a value written by FixedUnsigned at `position`.
void PatchFixedUnsigned(std::string& bytes, size_t position, uint64_t value);

// Reads packed values from bytes that the caller owns. The first malformed item makes the reader
// fail permanently: every further call returns a zero value and ok() is false. Callers therefore
// check once, at the end. Not thread-safe.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return position_ == bytes_.size(); }
  size_t remaining() const { return bytes_.size() - position_; }
  void Fail() { ok_ = false; }

  // True if the next item is nil, which is then consumed.
  bool TakeNil();
  bool Bool();
  uint64_t Unsigned();
  int64_t Signed();
  double Float();
  std::string_view Text();
  // Returns the number of items that follow; never more than the bytes that are left.
  size_t Array();
  // An array of at most `count_max` numbers; a longer one is malformed.
  std::vector<uint64_t> Unsigneds(size_t count_max);
  void Skip();

 private:
  uint8_t Byte();
  template <size_t kBytes>
  uint64_t BigEndian();
  std::string_view Take(size_t count);

  std::string_view bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace agent_graph::state::pack
