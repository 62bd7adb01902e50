// Extracts the text of documents. It runs in a process of its own, because documents may be
// malicious.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::extract {

// Limit for the text of one document, whatever its size.
inline constexpr size_t kTextBytesMax = 512 * 1024;
// Limit for all unpacked parts of an archive together.
inline constexpr size_t kInflatedBytesMax = 64 * 1024 * 1024;
inline constexpr int kArchiveEntriesMax = 10'000;

// Collects text and cuts it at kTextBytesMax bytes.
class Text {
 public:
  void Append(std::string_view utf8);
  // Ends the line if it is not empty.
  void EndLine();
  void Tab() { Append("\t"); }
  bool full() const { return full_; }
  // The text without blanks at both ends; cut between characters.
  std::string Take();

 private:
  std::string text_;
  bool full_ = false;
};

// These functions return nullopt if the document cannot be read in that format.
std::optional<std::string> PlainText(std::string_view bytes);  // UTF-8, UTF-16 or Latin-1
std::optional<std::string> HtmlText(std::string_view bytes);
std::optional<std::string> XmlText(std::string_view bytes);
// Formats that are archives of XML files. They take a path because the archive must be read in
// place.
std::optional<std::string> WordText(const std::string& path);
std::optional<std::string> PresentationText(const std::string& path);
std::optional<std::string> SheetText(const std::string& path);
std::optional<std::string> OpenDocumentText(const std::string& path);

}  // namespace agent_graph::extract
