#include "base/words.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/letter_case.h"

namespace agent_graph {
namespace {

constexpr size_t kWordBytesMax = 64;

bool IsAsciiWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Length of the UTF-8 character that starts with `c`; 1 for a byte that cannot start one.
size_t CharacterBytes(char c) {
  const auto byte = static_cast<uint8_t>(c);
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  if (byte >= 0xc0) return 2;
  return 1;
}

uint32_t CodePoint(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  uint32_t point = first & (0xffu >> (character.size() + 1));
  for (char c : character.substr(1)) point = point << 6 | (static_cast<uint8_t>(c) & 0x3f);
  return point;
}

// Scripts without blanks between words.
bool StandsAlone(uint32_t point) {
  return (point >= 0x3040 && point <= 0x30ff) || (point >= 0x3400 && point <= 0x9fff) ||
         (point >= 0xf900 && point <= 0xfaff) || (point >= 0x20000 && point <= 0x3ffff);
}

// Blanks, punctuation and symbols beyond ASCII that separate words.
bool Separates(uint32_t point) {
  return point < 0xc0 || point == 0xd7 || point == 0xf7 || (point >= 0x2000 && point <= 0x2bff) ||
         (point >= 0x3000 && point <= 0x303f) || (point >= 0xff00 && point <= 0xff0f) ||
         (point >= 0x1f000 && point <= 0x1faff);
}

class Collector {
 public:
  explicit Collector(const std::function<void(std::string_view)>& word) : word_(word) {}

  void Add(std::string_view character) {
    if (buffer_.size() + character.size() <= kWordBytesMax) buffer_ += character;
  }
  void End() {
    if (buffer_.empty()) return;
    word_(buffer_);
    buffer_.clear();
  }

 private:
  const std::function<void(std::string_view)>& word_;
  std::string buffer_;
};

}  // namespace

void ForEachWord(std::string_view text, const std::function<void(std::string_view word)>& word) {
  Collector collector(word);
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (static_cast<uint8_t>(c) < 0x80) {
      if (IsAsciiWordByte(c)) {
        const char lower = LowerCase(c);
        collector.Add({&lower, 1});
      } else if (c != '\'') {  // "don't" stays one word
        collector.End();
      }
      ++i;
      continue;
    }
    const std::string_view character = text.substr(i, CharacterBytes(c));
    i += character.size();
    const uint32_t point = CodePoint(character);
    if (Separates(point)) {
      collector.End();
    } else if (StandsAlone(point)) {
      collector.End();
      collector.Add(character);
      collector.End();
    } else if (point >= 0xc0 && point <= 0xde && character.size() == 2) {
      const char lower[] = {character[0], static_cast<char>(character[1] + 0x20)};
      collector.Add({lower, 2});
    } else {
      collector.Add(character);
    }
  }
  collector.End();
}

std::string_view SearchForm(std::string_view word) {
  if (word.size() > 4 && word.ends_with("ies")) return word.substr(0, word.size() - 2);
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") &&
      !word.ends_with("is")) {
    word.remove_suffix(1);
  }
  return word;
}

std::string WordForm(std::string_view word) {
  constexpr std::string_view kVowels = "aeiou";
  std::string form(SearchForm(word));
  if (form.size() < 3) return form;
  if (form.ends_with("ie")) {
    form.pop_back();
  } else if (form.back() == 'y' && kVowels.find(form[form.size() - 2]) == kVowels.npos) {
    form.back() = 'i';
  }
  return form;
}

}  // namespace agent_graph
