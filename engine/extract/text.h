// The text in a document, read in a process of its own: documents are hostile.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::extract {

// What is read of one document, whatever its size.
inline constexpr size_t kTextBytesMax = 512 * 1024;
// What the parts of an archive may unpack to, together.
inline constexpr size_t kInflatedBytesMax = 64 * 1024 * 1024;
inline constexpr int kArchiveEntriesMax = 10'000;

// Text under construction; what comes after kTextBytesMax is cut off.
class Text {
 public:
  void Append(std::string_view utf8);
  // Ends the line, if there is anything in it.
  void EndLine();
  void Tab() { Append("\t"); }
  bool full() const { return full_; }
  // Without blank ends; cut at the end of a character.
  std::string Take();

 private:
  std::string text_;
  bool full_ = false;
};

// Each: nothing when the document cannot be read as such.
std::optional<std::string> PlainText(std::string_view bytes);  // UTF-8, UTF-16 or Latin-1
std::optional<std::string> HtmlText(std::string_view bytes);
std::optional<std::string> XmlText(std::string_view bytes);
// Archives with documents in XML: a file of this name, as it must be read in place.
std::optional<std::string> WordText(const std::string& path);
std::optional<std::string> PresentationText(const std::string& path);
std::optional<std::string> SheetText(const std::string& path);
std::optional<std::string> OpenDocumentText(const std::string& path);

}  // namespace agent_graph::extract
