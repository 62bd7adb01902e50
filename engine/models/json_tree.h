// A provider's JSON, parsed once, read and dropped: a chunk of a stream, or a whole reply.
//
// All values of a text lie in one array in the order of the text, and strings point into the text
// where they can. That makes a parse of a usual chunk free of allocations and costs a third of a
// tree of maps, which at hundreds of thousands of tokens a second is what counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::models {

// A value in its tree; an object or array is followed by its members.
struct JsonNode {
  enum class Type : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

  bool is_object() const { return type == Type::kObject; }
  bool is_array() const { return type == Type::kArray; }
  bool is_string() const { return type == Type::kString; }
  bool empty() const { return nodes == 1; }  // of an object or array

  Type type = Type::kNull;
  bool is_integer = false;  // of a number that an int64_t holds: `integer` is its value
  uint32_t nodes = 1;       // with everything below
  std::string_view key;     // of a member of an object, decoded
  std::string_view text;    // of a string, decoded; of a number as it was written
  int64_t integer = 0;
};

// The values of an object or array in order.
class JsonItems {
 public:
  class Iterator {
   public:
    explicit Iterator(const JsonNode* node) : node_(node) {}
    const JsonNode& operator*() const { return *node_; }
    Iterator& operator++() {
      node_ += node_->nodes;
      return *this;
    }
    bool operator==(const Iterator& other) const = default;

   private:
    const JsonNode* node_;
  };

  explicit JsonItems(const JsonNode& container) : container_(&container) {}
  Iterator begin() const { return Iterator(container_ + 1); }
  Iterator end() const { return Iterator(container_ + container_->nodes); }

 private:
  const JsonNode* container_;
};

// The first member of that name of an object, or null.
const JsonNode* FindMember(const JsonNode& object, std::string_view key);
// The value as JSON text again, on one line.
std::string JsonText(const JsonNode& value);

// Keeps its memory for the next text. One thread at a time.
class JsonTree {
 public:
  JsonTree();
  ~JsonTree();
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;

  // Null when `text` is not JSON, is nested too deeply or has too many values. Bytes that are not
  // UTF-8 are left as they are; half a surrogate pair, as a stream cut in two may end with, becomes
  // U+FFFD. The nodes live until the next call and as long as `text`.
  const JsonNode* Parse(std::string_view text);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace agent_graph::models
