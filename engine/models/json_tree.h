// A parser for a provider's JSON that is read once and dropped: a chunk of a stream, or a reply.
//
// All values are in one array in the order of the text, and strings refer to the text where
// possible. So parsing a typical chunk needs no allocation and takes a third of the time of a tree
// of maps, which matters at hundreds of thousands of tokens per second.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::models {

// A value in the tree. The members of an object or array follow it in the array.
struct JsonNode {
  enum class Type : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

  bool is_object() const { return type == Type::kObject; }
  bool is_array() const { return type == Type::kArray; }
  bool is_string() const { return type == Type::kString; }
  bool empty() const { return nodes == 1; }  // for objects and arrays

  Type type = Type::kNull;
  bool is_integer = false;  // a number that fits into an int64_t: its value is in `integer`
  uint32_t nodes = 1;       // this value and everything below it
  std::string_view key;     // key in the object that contains it, unescaped
  std::string_view text;    // strings are unescaped, numbers are as written
  int64_t integer = 0;
};

// Iterates over the values of an object or array in order.
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

// True if the bytes of `part` are a part of `whole` in memory.
bool IsWithin(std::string_view part, std::string_view whole);
// The first member of an object with this name, or null.
const JsonNode* FindMember(const JsonNode& object, std::string_view key);
// The value as JSON text, on one line.
std::string JsonText(const JsonNode& value);

// Reuses its memory for the next text. Not thread-safe.
class JsonTree {
 public:
  JsonTree();
  ~JsonTree();
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;

  // Null if `text` is not JSON, is nested too deeply or has too many values. Invalid UTF-8 is kept;
  // half a surrogate pair, which may occur where a stream is split, becomes U+FFFD. The nodes are
  // valid until the next call and as long as `text`.
  const JsonNode* Parse(std::string_view text);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace agent_graph::models
