#include "cli/json_place.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text_position.h"

namespace agent_graph::cli {
namespace {

// Walks along one path. Nothing is checked: the text is valid.
class PlaceFinder {
 public:
  PlaceFinder(std::string_view text, std::string_view path) : text_(text), rest_(path) {}

  std::optional<size_t> Find() {
    std::optional<size_t> found;
    while (!rest_.empty()) {
      SkipBlanks();
      const std::optional<size_t> next = Peek() == '{'   ? EnterObject()
                                         : Peek() == '[' ? EnterArray()
                                                         : std::nullopt;
      if (!next) break;
      found = next;
    }
    return found;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  // Takes a name from the path, if the path begins with it.
  bool TakeName(std::string_view name) {
    if (!rest_.starts_with(name)) return false;
    if (rest_.size() != name.size() && rest_[name.size()] != '.') return false;
    rest_.remove_prefix(std::min(name.size() + 1, rest_.size()));
    return true;
  }

  // Moves to the value of the member that the path names; returns the place of its name.
  std::optional<size_t> EnterObject() {
    for (++at_;; ++at_) {
      SkipBlanks();
      if (Peek() != '"') return std::nullopt;
      const size_t begin = at_;
      SkipString();
      const Result<json> name = ParseJson(text_.substr(begin, at_ - begin));
      SkipBlanks();
      ++at_;  // the colon
      SkipBlanks();
      if (name.ok() && name->is_string() && TakeName(name->get_ref<const std::string&>())) {
        return begin;
      }
      SkipValue();
      if (Peek() != ',') return std::nullopt;
    }
  }

  // Moves to the element that the path names.
  std::optional<size_t> EnterArray() {
    ++at_;
    for (size_t index = 0;; ++index, ++at_) {
      SkipBlanks();
      if (Peek() == ']' || Peek() == '\0') return std::nullopt;
      if (TakeName(std::to_string(index))) return at_;
      SkipValue();
      if (Peek() != ',') return std::nullopt;
    }
  }

  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  // Skips a value and the blanks behind it.
  void SkipValue() {
    for (int depth = 0; at_ < text_.size();) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return;
      if (c == '}' || c == ']') --depth;
      ++at_;
    }
  }

  std::string_view text_;
  std::string_view rest_;  // the rest of the path
  size_t at_ = 0;
};

}  // namespace

std::optional<size_t> PlaceOf(std::string_view text, std::string_view path) {
  return PlaceFinder(text, path).Find();
}

std::string WithPlace(const std::string& problem, const std::string& file) {
  const std::string beginning = file + ": ";
  if (!file.ends_with(".json") || !problem.starts_with(beginning)) return problem;
  const std::string_view rest = std::string_view(problem).substr(beginning.size());
  std::ifstream in(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!in || !ParseJson(text).ok()) return problem;
  const std::optional<size_t> place = PlaceOf(text, rest.substr(0, rest.find(": ")));
  if (!place) return problem;
  return file + ":" + LineAndColumn(text, *place) + ": " + std::string(rest);
}

}  // namespace agent_graph::cli
