// Packed structs: field lists, missing and surplus fields, damaged bytes.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/pack/fields.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::state {
namespace {

TEST(Pack, IntegersOfEverySizeRoundTrip) {
  for (int shift = 0; shift < 64; ++shift) {
    for (uint64_t delta : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      const uint64_t value = (uint64_t{1} << shift) + delta;
      uint64_t back = 0;
      ASSERT_TRUE(pack::FromBytes(pack::ToBytes(value), back));
      EXPECT_EQ(back, value);
      const auto negative = static_cast<int64_t>(~(value >> 1));
      int64_t signed_back = 0;
      ASSERT_TRUE(pack::FromBytes(pack::ToBytes(negative), signed_back));
      EXPECT_EQ(signed_back, negative);
    }
  }
}

// Lists of numbers have a way of their own; the bytes are those of any other list.
TEST(Pack, ListsOfNumbersAreListsOfTheirItems) {
  std::vector<uint64_t> list;
  for (int shift = 0; shift < 64; ++shift) {
    for (uint64_t delta : {uint64_t{0}, ~uint64_t{0}})
      list.push_back((uint64_t{1} << shift) + delta);
  }
  std::string expected = "before";
  pack::Packer packer(expected);
  packer.Array(list.size());
  for (const uint64_t item : list) packer.Unsigned(item);
  std::string bytes = "before";
  pack::Packer(bytes).Unsigneds(list);
  EXPECT_EQ(bytes, expected);

  const std::string_view packed = std::string_view(bytes).substr(6);
  std::vector<uint64_t> back;
  ASSERT_TRUE(pack::FromBytes(packed, back));
  EXPECT_EQ(back, list);
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(pack::FromBytes(packed.substr(0, size), back)) << size;
  }
  ASSERT_TRUE(pack::FromBytes("\x90", back));
  EXPECT_TRUE(back.empty());
  EXPECT_FALSE(pack::FromBytes("\x91\xc0", back));  // nil is no number
  pack::Unpacker unpacker(packed);
  EXPECT_TRUE(unpacker.Unsigneds(list.size() - 1).empty());
  EXPECT_FALSE(unpacker.ok());
}

TEST(Pack, TextsAndListsOfEverySizeRoundTrip) {
  for (size_t size : {0, 1, 15, 16, 31, 32, 255, 256, 65'535, 65'536}) {
    std::vector<std::string> list(size, "x");
    list.push_back(std::string(size, 'y'));
    std::vector<std::string> back;
    ASSERT_TRUE(pack::FromBytes(pack::ToBytes(list), back));
    EXPECT_EQ(back, list);
  }
}

TEST(Pack, StructsRoundTrip) {
  BeginRunRequest run;
  run.scope = Scope::Owner("alice");
  run.thread_id = std::string("t\0", 2);
  run.window_max = std::nullopt;
  run.enqueue_if_busy = false;
  run.wait_ms_max = -1;
  BeginRunRequest back;
  ASSERT_TRUE(pack::FromBytes(pack::ToBytes(run), back));
  EXPECT_EQ(back.scope.kind, Scope::Kind::kOwner);
  EXPECT_EQ(back.scope.user_id, "alice");
  EXPECT_EQ(back.thread_id, run.thread_id);
  EXPECT_EQ(back.window_max, std::nullopt);
  EXPECT_FALSE(back.enqueue_if_busy);
  EXPECT_EQ(back.wait_ms_max, -1);
}

TEST(Pack, MissingFieldsAreDefaultsAndSurplusOnesAreSkipped) {
  std::string bytes;
  pack::Packer packer(bytes);
  packer.Array(1);
  packer.Text("search");
  PageRequest page;
  ASSERT_TRUE(pack::FromBytes(bytes, page));
  EXPECT_EQ(page.search, "search");
  EXPECT_EQ(page.limit, 100u);

  bytes.clear();
  packer.Array(4);
  packer.Bool(true);
  packer.Array(2);  // from a newer version
  packer.Nil();
  packer.Text(std::string(100, 'x'));
  packer.Signed(-5);
  packer.Unsigned(1u << 20);
  AppendRunReply reply;
  ASSERT_TRUE(pack::FromBytes(bytes, reply));
  EXPECT_TRUE(reply.stop_requested);
}

TEST(Pack, AFinishOfAnotherBuildIsRead) {
  for (const bool trims : {false, true}) {
    std::string bytes;
    pack::Packer packer(bytes);
    packer.Array(5);
    AppendRunRequest append;
    append.run_id = "r";
    pack::Pack(packer, append);
    Snapshot snapshot;
    snapshot.fields_json = R"({"a":1})";
    pack::Pack(packer, snapshot);
    packer.Text("done");
    packer.Text("name");
    pack::Pack(packer, trims ? std::optional<uint64_t>(20) : std::nullopt);  // its window_max
    FinishRunRequest finish;
    ASSERT_TRUE(pack::FromBytes(bytes, finish));
    EXPECT_EQ(finish.append.run_id, "r");
    EXPECT_EQ(finish.snapshot.fields_json, snapshot.fields_json);
    EXPECT_EQ(finish.thread_name, "name");
    EXPECT_TRUE(finish.changed_fields.empty());
    EXPECT_FALSE(finish.state_unread);
  }
}

// The other build expects a number or nil for fields that this build does not have, and skips the
// rest.
TEST(Pack, AnotherBuildReadsAFinish) {
  FinishRunRequest finish;
  finish.status = "done";
  finish.changed_fields = {"a", "b"};
  finish.forgotten = {7, {"m"}};
  const std::string bytes = pack::ToBytes(finish);
  pack::Unpacker unpacker(bytes);
  const size_t count = unpacker.Array();
  ASSERT_GT(count, 5u);
  unpacker.Skip();
  unpacker.Skip();
  EXPECT_EQ(unpacker.Text(), "done");
  unpacker.Skip();
  std::optional<uint64_t> window_max = 1;
  pack::Unpack(unpacker, window_max);
  EXPECT_TRUE(unpacker.ok());
  EXPECT_FALSE(window_max);
}

TEST(Pack, EveryCutIsNoticed) {
  ThreadState state;
  state.record.thread_id = "t";
  state.window = {{"m", 1, std::string(300, 'j')}};
  state.in_flight = RunInFlight{"r", "n", 1, true};
  const std::string bytes = pack::ToBytes(state);
  ThreadState back;
  ASSERT_TRUE(pack::FromBytes(bytes, back));
  EXPECT_EQ(back.window.at(0).json, state.window[0].json);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(pack::FromBytes(std::string_view(bytes).substr(0, length), back)) << length;
  }
}

TEST(Pack, AnnouncedListLongerThanItsBytesIsRefused) {
  std::string bytes = "\xdd\xff\xff\xff\xff";
  std::vector<StoredMessage> messages;
  EXPECT_FALSE(pack::FromBytes(bytes, messages));
}

}  // namespace
}  // namespace agent_graph::state
