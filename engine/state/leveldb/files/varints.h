// Reads integers and texts in the encoding of LevelDB's files.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace agent_graph::state {

// Takes values from the front of `bytes`. After the first value that is missing or malformed, ok()
// stays false. Not thread-safe.
class VarintParser {
 public:
  explicit VarintParser(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(Take(1));
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view Text() {
    const uint64_t length = Varint();
    if (length > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return text;
  }
  // Takes a little-endian integer of `size` bytes.
  uint64_t Take(size_t size) {
    if (size > rest_.size()) ok_ = false;
    if (!ok_) return 0;
    uint64_t value = 0;
    std::memcpy(&value, rest_.data(), size);
    rest_.remove_prefix(size);
    return value;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace agent_graph::state
