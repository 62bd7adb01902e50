#include "extract/archive.h"

#include <zip.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>

#include "extract/text.h"
#include "extract/xml.h"

namespace agent_graph::extract {
namespace {

std::string AttributeOf(xmlTextReader* reader, std::string_view wanted) {
  std::string value;
  for (int more = xmlTextReaderMoveToFirstAttribute(reader); more == 1;
       more = xmlTextReaderMoveToNextAttribute(reader)) {
    if (View(xmlTextReaderConstLocalName(reader)) == wanted) {
      value = View(xmlTextReaderConstValue(reader));
      break;
    }
  }
  xmlTextReaderMoveToElement(reader);
  return value;
}

void PassNode(xmlTextReader* reader, const XmlHandler& handler) {
  switch (xmlTextReaderNodeType(reader)) {
    case XML_READER_TYPE_ELEMENT: {
      const std::string name(View(xmlTextReaderConstLocalName(reader)));
      const bool empty = xmlTextReaderIsEmptyElement(reader) == 1;
      if (handler.on_start) {
        handler.on_start(
            {name, [reader](const char* attribute) { return AttributeOf(reader, attribute); }});
      }
      if (empty && handler.on_end) handler.on_end(name);
      break;
    }
    case XML_READER_TYPE_END_ELEMENT:
      if (handler.on_end) handler.on_end(View(xmlTextReaderConstLocalName(reader)));
      break;
    case XML_READER_TYPE_TEXT:
    case XML_READER_TYPE_CDATA:
    case XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
      if (handler.on_text) handler.on_text(View(xmlTextReaderConstValue(reader)));
      break;
    default:
      break;
  }
}

}  // namespace

Archive::Archive(const std::string& path) {
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &error);
  if (archive != nullptr && zip_get_num_entries(archive, 0) > kArchiveEntriesMax) {
    zip_discard(archive);
    archive = nullptr;
  }
  archive_ = archive;
}

Archive::~Archive() {
  if (archive_ != nullptr) zip_discard(static_cast<zip_t*>(archive_));
}

std::vector<std::string> Archive::Numbered(std::string_view prefix, std::string_view suffix) const {
  auto* archive = static_cast<zip_t*>(archive_);
  std::vector<std::pair<long, std::string>> found;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (name == nullptr) continue;
    std::string text = name;
    if (!text.starts_with(prefix) || !text.ends_with(suffix)) continue;
    if (text.find('/', prefix.size()) != std::string::npos) continue;
    found.emplace_back(std::strtol(text.c_str() + prefix.size(), nullptr, 10), std::move(text));
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [number, name] : found) names.push_back(std::move(name));
  return names;
}

std::optional<std::string> Archive::Read(const std::string& name) {
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen(static_cast<zip_t*>(archive_), name.c_str(), 0), zip_fclose);
  if (file == nullptr) return std::nullopt;
  std::string bytes;
  std::string piece(64 * 1024, '\0');
  for (;;) {
    zip_int64_t got = zip_fread(file.get(), piece.data(), piece.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return bytes;
    inflated_ += static_cast<size_t>(got);
    if (inflated_ > kInflatedBytesMax) return std::nullopt;
    bytes.append(piece, 0, static_cast<size_t>(got));
  }
}

bool ReadXml(std::string_view bytes, const XmlHandler& handler) {
  if (bytes.size() > INT_MAX) return false;
  std::unique_ptr<xmlTextReader, void (*)(xmlTextReader*)> reader(
      xmlReaderForMemory(bytes.data(), static_cast<int>(bytes.size()), nullptr, nullptr,
                         kXmlOptions),
      xmlFreeTextReader);
  if (reader == nullptr) return false;
  for (;;) {
    if (handler.stop && handler.stop()) return true;
    int more = xmlTextReaderRead(reader.get());
    if (more != 1) return more == 0;
    PassNode(reader.get(), handler);
  }
}

}  // namespace agent_graph::extract
