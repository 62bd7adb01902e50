// The timestamp in the text of a message.
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <random>
#include <string>

#include "message/codec.h"

namespace agent_graph::message {
namespace {

std::string Written(double timestamp) {
  Message message;
  message.timestamp = timestamp;
  const std::string text = ToJsonText(message);
  constexpr std::string_view kKey = "\"timestamp\":";
  const size_t begin = text.find(kKey) + kKey.size();
  return text.substr(begin, text.find(',', begin) - begin);
}

std::string Shortest(double number) {
  char text[400];
  const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed);
  return std::string(text, end.ptr);
}

TEST(MessageTimestamp, IsTheShortestTextOfItsNumber) {
  for (const double number : {0.0, 0.5, 1.0, 1.000001, 1e9, 1781611200.25, 3999999999.999999, 4e9,
                              4000000000.5, 1e15, 1e300, -1.5}) {
    EXPECT_EQ(Written(number), Shortest(number));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const double number = static_cast<double>(random() % 4'000'000'000'000'000) / 1e6;
    EXPECT_EQ(Written(number), Shortest(number));
    const double between = std::nextafter(number, 1e10);
    EXPECT_EQ(Written(between), Shortest(between));
  }
}

}  // namespace
}  // namespace agent_graph::message
