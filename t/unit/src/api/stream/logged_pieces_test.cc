// RunFollower: pieces of messages that are in the log of the run.
#include "run_follower_fixture.h"

namespace agent_graph::api {
namespace {

TEST_F(RunFollowerTest, LoggedPiecesAreTheSameForEveryReader) {
  options_.pieces_of_log = true;
  const auto add = [&](const std::string& text, int64_t begin, uint64_t epoch) {
    Add(run::entry::MessagePiece{.node = "MAIN",
                                 .step = 1,
                                 .message_id = epoch == 1 ? "m1" : "m2",
                                 .text_begin = begin,
                                 .text = text},
        epoch);
  };
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1}, 1);
  add("Hel", 0, 1);
  add("Hel", 0, 1);  // written twice
  record_.attempt = 2;
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1}, 2);
  add("Hi", 0, 2);
  add("!", 5, 2);  // the piece before is missing
  AddMessage("m2", "Hi there!", 2);
  add("there", 2, 2);  // late
  End(state::RunState::kDone, 2);
  BeginLive(2);
  Piece("m3", "not from here");
  Lines lines;
  Follow(lines);
  EXPECT_EQ(lines.Texts(true), (std::vector<std::string>{"Hel", "Hi", " there!"}));
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"Hi there!"}));
  EXPECT_EQ(lines.received[1].chunk["data"]["reset"], "m1");
}

TEST_F(RunFollowerTest, ReadersOfLinesDoNotSeeLoggedPieces) {
  Add(run::entry::MessagePiece{.node = "MAIN", .step = 1, .message_id = "m1", .text = "Hel"});
  AddMessage("m1", "Hello");
  End();
  Lines lines;
  Follow(lines);
  EXPECT_EQ(lines.Texts(true), std::vector<std::string>());
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"Hello"}));
}

TEST_F(RunFollowerTest, AReaderMayWantOnlyWhatThereIs) {
  options_.until_now = true;
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
  AddMessage("m1", "Hello");
  Lines lines;
  Follow(lines);
  EXPECT_TRUE(last_.ok());
  ASSERT_EQ(lines.received.size(), 1u);
  EXPECT_FALSE(lines.received[0].IsDone());
  End();
  Lines whole;
  Follow(whole);
  EXPECT_TRUE(whole.received.back().IsDone());
}

}  // namespace
}  // namespace agent_graph::api
