// A document that is a ZIP archive of XML files.
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
  // Names that begin with `prefix` and end with `suffix`, by the number between them.
  std::vector<std::string> Numbered(std::string_view prefix, std::string_view suffix) const;
  // A file's bytes. Nothing when it is missing, damaged, or all that was read together would be
  // more than kInflatedBytesMax: what the archive says about sizes is not believed.
  std::optional<std::string> Read(const std::string& name);

 private:
  void* archive_ = nullptr;
  size_t inflated_ = 0;
};

struct XmlElement {
  std::string_view name;                                        // without namespace prefix
  std::function<std::string(const char* attribute)> attribute;  // local name; empty: none
};

struct XmlHandler {
  std::function<void(const XmlElement&)> on_start = nullptr;
  std::function<void(std::string_view name)> on_end = nullptr;
  std::function<void(std::string_view text)> on_text = nullptr;
  std::function<bool()> stop = nullptr;
};

// False when it is no well-formed XML.
bool ReadXml(std::string_view bytes, const XmlHandler& handler);

}  // namespace agent_graph::extract
