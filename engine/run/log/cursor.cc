#include "run/log/cursor.h"

#include <array>

namespace agent_graph::run {
namespace {

// Digits in the order of their values, so that texts sort like numbers.
constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
constexpr unsigned kBitsPerDigit = 5;
constexpr size_t kDigitsPerNumber = 13;  // 65 bits: the first digit is 0 to f
constexpr size_t kNumbers = 5;
constexpr uint64_t kFirstDigitMax = 15;

void AppendNumber(uint64_t number, std::string& out) {
  for (size_t i = kDigitsPerNumber; i > 0; --i) {
    const size_t shift = (i - 1) * kBitsPerDigit;
    out.push_back(kDigits[(number >> shift) % kDigits.size()]);
  }
}

std::optional<uint64_t> ReadNumber(std::string_view text) {
  uint64_t number = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos || (i == 0 && digit > kFirstDigitMax)) return std::nullopt;
    number = number << kBitsPerDigit | digit;
  }
  return number;
}

}  // namespace

std::string CursorText(const Cursor& cursor) {
  std::string out;
  out.reserve(kNumbers * kDigitsPerNumber);
  for (const uint64_t number : {cursor.thread_number, cursor.lease_epoch, cursor.index,
                                cursor.reasoning_bytes, cursor.text_bytes}) {
    AppendNumber(number, out);
  }
  return out;
}

std::optional<Cursor> ParseCursor(std::string_view text) {
  if (text.size() != kNumbers * kDigitsPerNumber) return std::nullopt;
  std::array<uint64_t, kNumbers> numbers{};
  for (uint64_t& number : numbers) {
    const std::optional<uint64_t> read = ReadNumber(text.substr(0, kDigitsPerNumber));
    if (!read) return std::nullopt;
    number = *read;
    text.remove_prefix(kDigitsPerNumber);
  }
  return Cursor{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

}  // namespace agent_graph::run
