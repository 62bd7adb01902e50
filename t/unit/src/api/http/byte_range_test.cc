#include "api/http/byte_range.h"

#include <gtest/gtest.h>

namespace agent_graph::api {
namespace {

using Kind = ByteRange::Kind;

constexpr char kEtag[] = "\"tag\"";

void ExpectRange(std::string_view header, Kind kind, uint64_t first, uint64_t length) {
  ByteRange range = ReadRange(header, "", kEtag, 100);
  EXPECT_EQ(range.kind, kind) << header;
  EXPECT_EQ(range.first, first) << header;
  EXPECT_EQ(range.length, length) << header;
}

TEST(ReadRange, OneRangeOfBytes) {
  ExpectRange("bytes=0-0", Kind::kPart, 0, 1);
  ExpectRange("Bytes= 10-19 ", Kind::kPart, 10, 10);
  ExpectRange("bytes=90-", Kind::kPart, 90, 10);
  ExpectRange("bytes=99-4294967296000000000000", Kind::kPart, 99, 1);
  ExpectRange("bytes=-1", Kind::kPart, 99, 1);
  ExpectRange("bytes=-100000000000000000000000", Kind::kPart, 0, 100);
}

TEST(ReadRange, OutsideOfTheFile) {
  EXPECT_EQ(ReadRange("bytes=100-", "", kEtag, 100).kind, Kind::kUnsatisfiable);
  EXPECT_EQ(ReadRange("bytes=18446744073709551616-", "", kEtag, 100).kind, Kind::kUnsatisfiable);
  EXPECT_EQ(ReadRange("bytes=-0", "", kEtag, 100).kind, Kind::kUnsatisfiable);
}

TEST(ReadRange, AnythingElseIsTheWhole) {
  for (const char* header : {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=1", "bytes=2-1",
                             "bytes=1-2,4-5", "items=0-1", "bytes=+1-2", "bytes=1--2"}) {
    ExpectRange(header, Kind::kWhole, 0, 100);
  }
}

TEST(ReadRange, OnlyOfTheEntityTheClientHas) {
  EXPECT_EQ(ReadRange("bytes=0-1", kEtag, kEtag, 100).kind, Kind::kPart);
  EXPECT_EQ(ReadRange("bytes=0-1", "\"other\"", kEtag, 100).kind, Kind::kWhole);
  EXPECT_EQ(ReadRange("bytes=0-1", "W/\"tag\"", kEtag, 100).kind, Kind::kWhole);
  EXPECT_EQ(ReadRange("bytes=0-1", "Sat, 21 Nov 2026 00:00:00 GMT", kEtag, 100).kind, Kind::kWhole);
}

TEST(MatchesEtag, Lists) {
  for (const char* header : {"\"tag\"", "W/\"tag\"", "\"a\", \"tag\"", " * ", "\"a\",W/\"tag\" "}) {
    EXPECT_TRUE(MatchesEtag(header, kEtag)) << header;
  }
  for (const char* header : {"", "tag", "\"a\"", "\"tag", ",,"}) {
    EXPECT_FALSE(MatchesEtag(header, kEtag)) << header;
  }
}

}  // namespace
}  // namespace agent_graph::api
