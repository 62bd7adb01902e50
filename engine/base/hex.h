// Encodes bytes as hexadecimal digits.
#pragma once

#include <cstddef>
#include <string>

#include "base/letter_case.h"

namespace agent_graph {

// Writes two digits, in lower case.
inline void WriteHex(unsigned char byte, char* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  out[0] = kDigits[byte >> 4];
  out[1] = kDigits[byte & 15];
}

// Appends two digits, in lower case.
inline void AppendHex(unsigned char byte, std::string& out) {
  char digits[2];
  WriteHex(byte, digits);
  out.append(digits, sizeof digits);
}

// Two lower-case digits per byte.
inline std::string Hex(const void* bytes, size_t length) {
  std::string hex(2 * length, '0');
  for (size_t i = 0; i < length; ++i) {
    WriteHex(static_cast<const unsigned char*>(bytes)[i], &hex[2 * i]);
  }
  return hex;
}

// Value of a hexadecimal digit, -1 for any other character. LowerHexValue does not accept upper
// case.
constexpr int LowerHexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}
constexpr int HexValue(char digit) {
  return LowerHexValue(LowerCase(digit));
}

}  // namespace agent_graph
