// Threads that a run creates: ids that must not exist yet, and names that are set later.
#include <gtest/gtest.h>

#include "conformance.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

class NewThreadTest : public ConformanceTest {
 protected:
  static BeginRunRequest NewRunOn(const std::string& thread_id, const std::string& user) {
    BeginRunRequest run = RunOn(thread_id, user);
    run.new_thread_only = true;
    return run;
  }
};
INSTANTIATE_TEST_SUITE_P(All, NewThreadTest, testing::ValuesIn(AllSetups()), SetupName);

TEST_P(NewThreadTest, AnIdThatMustBeNewIsNeverShared) {
  BeginRunRequest first = NewRunOn("t", "alice");
  Result<BeginRunReply> begun = client_->BeginRun(first, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  // Refused while it runs and afterwards, for any user.
  for (const char* user : {"alice", "bob"}) {
    EXPECT_EQ(client_->BeginRun(NewRunOn("t", user), nullptr).status().code(),
              StatusCode::kConflict);
  }
  ASSERT_TRUE(client_->FinishRun(FinishOf(first, *begun)).ok());
  for (const char* user : {"alice", "bob"}) {
    EXPECT_EQ(client_->BeginRun(NewRunOn("t", user), nullptr).status().code(),
              StatusCode::kConflict);
  }
}

TEST_P(NewThreadTest, AThreadIsNamedByTheEndOfARunOnce) {
  for (const char* name : {"", "first", "second"}) {
    BeginRunRequest run = RunOn("t");
    Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
    ASSERT_TRUE(begun.ok());
    FinishRunRequest finish = FinishOf(run, *begun);
    finish.thread_name = name;
    ASSERT_TRUE(client_->FinishRun(finish).ok());
  }
  EXPECT_EQ(client_->GetThread(Scope::All(), "t")->name, "first");
}

}  // namespace
}  // namespace agent_graph::state
