// Runs every fuzzer with its seeds: complete, truncated at each byte, and with each byte changed. A
// failing check ends the program.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#define FUZZER(name) extern "C" int Fuzz_##name(const uint8_t* data, size_t size);
AGENT_GRAPH_FUZZERS
#undef FUZZER

namespace {

struct Fuzzer {
  const char* name;
  int (*run)(const uint8_t*, size_t);
};
#define FUZZER(name) Fuzzer{#name, &Fuzz_##name},
constexpr Fuzzer kFuzzers[] = {AGENT_GRAPH_FUZZERS};
#undef FUZZER

// Longer seeds are truncated and changed only at some of their bytes.
constexpr size_t kPlacesMax = 256;

std::vector<std::string> Seeds(const char* fuzzer) {
  std::vector<std::string> seeds;
  const auto folder = std::filesystem::path(AGENT_GRAPH_CORPUS) / fuzzer;
  if (!std::filesystem::is_directory(folder)) return seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

void Give(const Fuzzer& fuzzer, std::string_view bytes) {
  // A copy of exactly this size, so that a sanitizer detects reads beyond its end.
  const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  EXPECT_EQ(fuzzer.run(copy.data(), copy.size()), 0);
}

class Corpus : public testing::TestWithParam<Fuzzer> {};

TEST_P(Corpus, BreaksNothing) {
  const std::vector<std::string> seeds = Seeds(GetParam().name);
  ASSERT_FALSE(seeds.empty());
  Give(GetParam(), "");
  for (const std::string& seed : seeds) {
    Give(GetParam(), seed);
    const size_t step = seed.size() / kPlacesMax + 1;
    for (size_t at = 0; at < seed.size(); at += step) {
      Give(GetParam(), std::string_view(seed).substr(0, at));
      std::string changed = seed;
      for (const int flip : {0x01, 0x80, 0xff}) {
        changed[at] = static_cast<char>(seed[at] ^ flip);
        Give(GetParam(), changed);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzzers, Corpus, testing::ValuesIn(kFuzzers),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
