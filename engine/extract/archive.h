// Reads documents that are a ZIP archive of XML files. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::extract {

class Archive {
 public:
  explicit Archive(const std::string& path);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  bool ok() const { return archive_ != nullptr; }
  // Names that begin with `prefix` and end with `suffix`, sorted by the number between them.
  std::vector<std::string> Numbered(std::string_view prefix, std::string_view suffix) const;
  // The bytes of a file. nullopt if it is missing or damaged, or if all files read from this
  // archive would exceed kInflatedBytesMax. The sizes in the archive's headers are not trusted.
  std::optional<std::string> Read(const std::string& name);

 private:
  void* archive_ = nullptr;
  size_t inflated_ = 0;
};

struct XmlElement {
  std::string_view name;                                        // without namespace prefix
  std::function<std::string(const char* attribute)> attribute;  // by local name; empty: none
};

struct XmlHandler {
  std::function<void(const XmlElement&)> on_start = nullptr;
  std::function<void(std::string_view name)> on_end = nullptr;
  std::function<void(std::string_view text)> on_text = nullptr;
  std::function<bool()> stop = nullptr;
};

// False if it is not well-formed XML.
bool ReadXml(std::string_view bytes, const XmlHandler& handler);

}  // namespace agent_graph::extract
