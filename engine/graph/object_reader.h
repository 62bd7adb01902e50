// Reads one object of a declarative graph, key by key. Records the first mistake with its path, and
// reports keys that were never read. Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::graph {

class ObjectReader {
 public:
  ObjectReader(const json& value, std::string path);

  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view key) const { return path_ + "." + std::string(key); }

  // Null if the key is absent; JSON null is an ordinary value.
  const json* Value(const char* key);
  std::string RequiredText(const char* key);  // not empty
  std::string Text(const char* key, std::string otherwise);
  bool Bool(const char* key, bool otherwise);
  int64_t Integer(const char* key, int64_t otherwise, int64_t minimum, int64_t maximum);
  std::string ObjectText(const char* key);  // compact JSON; "{}" if the key is absent
  // Arrays; empty if the key is absent.
  std::vector<const json*> List(const char* key);
  std::vector<std::string> TextList(const char* key);
  // An object whose values are strings, in the order of its keys.
  std::vector<std::pair<std::string, std::string>> TextMap(const char* key);

  void Fail(const std::string& path, std::string_view problem);
  bool ok() const { return status_.ok(); }
  // The first mistake; otherwise an error for the first key that was never read, or Ok.
  Status Finish();

 private:
  const json& value_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
  Status status_;
};

// "a, b, c"
std::string JoinNames(const std::vector<std::string>& names);

}  // namespace agent_graph::graph
