// Instances of one database. Time is virtual: only the beats that a test makes happen.
#include "state/postgres/cluster/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "../../requests.h"
#include "../test_database.h"
#include "state/postgres/cluster/identity.h"
#include "state/postgres/cluster/jobs.h"

namespace agent_graph::state::postgres {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class MembershipTest : public DatabaseTest {
 protected:
  std::unique_ptr<Membership> Host(const std::string& name) {
    MembershipOptions options;
    options.database = Options();
    options.database.lock_timeout = lock_timeout_;
    options.identity_file = FileOf(name);
    options.host = name;
    options.version = "test";
    options.now = [this] { return now_; };
    return std::make_unique<Membership>(options);
  }
  std::unique_ptr<Membership> Joined(const std::string& name) {
    std::unique_ptr<Membership> host = Host(name);
    const Status joined = host->Join();
    EXPECT_TRUE(joined.ok()) << joined.ToString();
    return host;
  }
  std::string FileOf(const std::string& name) const { return directory_.path() + "/" + name; }
  Membership::News Beat(Membership& host) {
    Result<Membership::News> news = host.Beat();
    EXPECT_TRUE(news.ok()) << news.status().ToString();
    return news.ok() ? *news : Membership::News();
  }
  // A second passes, then this host beats.
  Membership::News BeatLater(Membership& host) {
    now_ += seconds(1);
    return Beat(host);
  }
  void PassGrace(std::vector<Membership*> hosts) {
    for (int i = 0; i < 11; ++i) {
      now_ += seconds(1);
      for (Membership* host : hosts) EXPECT_THAT(Beat(*host).dead, IsEmpty());
    }
  }

  TemporaryDirectory directory_;
  MonotonicClock::time_point now_{std::chrono::hours(1)};
  std::chrono::milliseconds lock_timeout_{2000};
};

TEST_F(MembershipTest, TheNextServerOfAHostAdoptsItsId) {
  const auto first = Joined("a");
  const auto next = Joined("a");
  EXPECT_EQ(next->id(), first->id());
  EXPECT_GT(next->incarnation(), first->incarnation());
  EXPECT_GT(next->epoch(), first->epoch());
  EXPECT_FALSE(Beat(*next).lost);
  // The earlier one, if it still runs, learns that it is over.
  EXPECT_TRUE(Beat(*first).lost);
  ASSERT_TRUE(first->Join().ok());
  EXPECT_NE(first->id(), next->id());
  EXPECT_FALSE(Beat(*first).lost);
  EXPECT_FALSE(Beat(*next).lost);
}

// Workers refuse a state server with a lower epoch than that of an earlier one.
TEST_F(MembershipTest, EpochsGrowAlsoIfAFailoverLosesTheLastOnes) {
  const int64_t lost = Number("SELECT epoch FROM agent_graph.cluster");
  const auto first = Joined("a");
  Run({"UPDATE agent_graph.cluster SET epoch = $1", {Value::Bigint(lost)}});
  EXPECT_GT(Joined("b")->epoch(), first->epoch());
}

// A process that was killed may have left a batch that still waits in the database.
TEST_F(MembershipTest, TransactionsInProgressEndBeforeTheIdChangesHands) {
  lock_timeout_ = std::chrono::milliseconds(20);
  const auto first = Joined("a");
  ConnectionOptions patient = Options();
  patient.idle_in_transaction_timeout = kPatience;
  Connection batch(patient);
  batch.Begin();
  ASSERT_TRUE(batch.ExecuteAll({HoldInstance(first->id(), first->incarnation())}).ok());
  const auto next = Host("a");
  EXPECT_EQ(next->Join().code(), StatusCode::kUnavailable);
  EXPECT_EQ(first->Leave().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.instance WHERE NOT dead"), 1);
  ASSERT_TRUE(batch.Commit().ok());
  ASSERT_TRUE(next->Join().ok());
  EXPECT_EQ(next->id(), first->id());
  EXPECT_TRUE(next->Leave().ok());
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.instance WHERE NOT dead"), 0);
}

TEST_F(MembershipTest, AnIdFromBeforeARebootIsNotAdopted) {
  const auto first = Joined("a");
  std::ofstream(FileOf("a")) << first->id() << " 00000000-0000-0000-0000-000000000000\n";
  EXPECT_EQ(ReadIdentity(FileOf("a")), "");
  EXPECT_NE(Joined("a")->id(), first->id());
}

TEST_F(MembershipTest, DamagedIdentitiesAreIgnored) {
  const auto first = Joined("a");
  ASSERT_EQ(ReadIdentity(FileOf("a")), first->id());
  for (const std::string content : {"", "x", "\n"}) {
    std::ofstream(FileOf("a")) << content;
    EXPECT_EQ(ReadIdentity(FileOf("a")), "");
  }
  EXPECT_EQ(ReadIdentity(FileOf("missing")), "");
}

TEST_F(MembershipTest, AHostThatCannotKeepItsIdIsNoInstance) {
  const auto a = Host("missing/directory");
  EXPECT_EQ(a->Join().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.instance"), 0);
  std::filesystem::create_directory(FileOf("missing"));
  EXPECT_TRUE(a->Join().ok());
  EXPECT_EQ(ReadIdentity(FileOf("missing/directory")), a->id());
}

TEST_F(MembershipTest, AnIdThatNoInstanceHasIsNotAdopted) {
  const std::string id(32, 'a');
  ASSERT_TRUE(WriteIdentity(FileOf("a"), id).ok());
  EXPECT_NE(Joined("a")->id(), id);
}

TEST_F(MembershipTest, ASilentInstanceIsDeclaredDead) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  PassGrace({a.get(), b.get()});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(BeatLater(*a).dead, IsEmpty());
  const Membership::News news = BeatLater(*a);
  EXPECT_THAT(news.dead, ElementsAre(b->id()));
  EXPECT_THAT(news.declared_dead, ElementsAre(b->id()));
  EXPECT_THAT(BeatLater(*a).dead, ElementsAre(b->id()));
  EXPECT_THAT(BeatLater(*a).declared_dead, IsEmpty());
  // It comes back, learns that it is lost, and is another instance from then on.
  const std::string old = b->id();
  EXPECT_TRUE(Beat(*b).lost);
  ASSERT_TRUE(b->Join().ok());
  EXPECT_NE(b->id(), old);
  EXPECT_FALSE(Beat(*b).lost);
  EXPECT_EQ(ReadIdentity(FileOf("b")), b->id());
}

TEST_F(MembershipTest, TheNextServerOfADeadInstanceIsANewOne) {
  const auto a = Joined("a");
  const std::string old = Joined("b")->id();
  Run({"UPDATE agent_graph.instance SET dead = true WHERE id = $1", {Value::Uuid(old)}});
  EXPECT_NE(Joined("b")->id(), old);
}

TEST_F(MembershipTest, OneOfManyObserversDeclaresIt) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  const auto c = Joined("c");
  PassGrace({a.get(), b.get(), c.get()});
  size_t declared = 0;
  for (int i = 0; i < 5; ++i) {
    now_ += seconds(1);
    declared += Beat(*a).declared_dead.size() + Beat(*b).declared_dead.size();
  }
  EXPECT_EQ(declared, 1u);
  EXPECT_THAT(Beat(*b).dead, ElementsAre(c->id()));
}

TEST_F(MembershipTest, AnInstanceThatWasDeclaredDeadDeclaresNobodyDead) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  PassGrace({a.get(), b.get()});
  Run({"UPDATE agent_graph.instance SET dead = true WHERE id = $1", {Value::Uuid(a->id())}});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(BeatLater(*a).lost);
  EXPECT_FALSE(Beat(*b).lost);
}

TEST_F(MembershipTest, AnOutageOfTheDatabaseKillsNobody) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  PassGrace({a.get(), b.get()});
  EXPECT_THAT(BeatLater(*a).dead, IsEmpty());
  // The sessions end. a comes back first.
  Run(
      {"SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = "
       "current_database() AND pid <> pg_backend_pid()"});
  for (int i = 0; i < 9; ++i) EXPECT_THAT(BeatLater(*a).dead, IsEmpty());
  EXPECT_FALSE(Beat(*b).lost);
  EXPECT_THAT(BeatLater(*a).dead, IsEmpty());
  // The grace period is over: an instance that sends no beats is declared dead again.
  for (int i = 0; i < 2; ++i) EXPECT_THAT(BeatLater(*a).dead, IsEmpty());
  EXPECT_THAT(BeatLater(*a).dead, ElementsAre(b->id()));
}

TEST_F(MembershipTest, AnInstanceThatLeavesIsDeadAtOnce) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  Beat(*a);
  ASSERT_TRUE(b->Leave().ok());
  EXPECT_THAT(Beat(*a).dead, ElementsAre(b->id()));
  const std::string old = b->id();
  EXPECT_NE(Joined("b")->id(), old);
}

TEST_F(MembershipTest, TwoCopiesOfADirectoryDoNotTakeTheIdFromEachOther) {
  const auto a = Joined("a");
  std::filesystem::copy(FileOf("a"), FileOf("copy"));
  const auto copy = Joined("copy");
  EXPECT_EQ(copy->id(), a->id());
  EXPECT_TRUE(Beat(*a).lost);
  const auto next = Joined("a");
  EXPECT_NE(next->id(), copy->id());
  EXPECT_FALSE(Beat(*copy).lost);
}

TEST_F(MembershipTest, TheFirstLivingInstanceCleansUp) {
  Run({"CREATE TABLE left_over (n bigint)"});
  const auto join = [&](const std::string& name) {
    MembershipOptions options;
    options.database = Options();
    options.identity_file = FileOf(name);
    options.when_alone = {{"INSERT INTO left_over VALUES (1)"}};
    auto host = std::make_unique<Membership>(options);
    EXPECT_TRUE(host->Join().ok());
    return host;
  };
  const auto a = join("a");
  EXPECT_EQ(Number("SELECT count(*) FROM left_over"), 1);
  const auto b = join("b");
  const auto again = join("b");
  EXPECT_EQ(Number("SELECT count(*) FROM left_over"), 1);
  ASSERT_TRUE(a->Leave().ok());
  ASSERT_TRUE(again->Leave().ok());
  join("a");
  EXPECT_EQ(Number("SELECT count(*) FROM left_over"), 2);
}

TEST_F(MembershipTest, NoticesArriveOnceAndInOrder) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  for (int i = 0; i < 3; ++i) Run(SendNotice(b->id(), i, std::string("\0body", 5)));
  const std::vector<Notice> notices = Beat(*b).notices;
  ASSERT_EQ(notices.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(notices[static_cast<size_t>(i)].kind, i);
  EXPECT_EQ(notices[0].body, std::string("\0body", 5));
  EXPECT_THAT(Beat(*a).notices, IsEmpty());
  Run(SendNotice(b->id(), 9, ""));
  EXPECT_EQ(Beat(*b).notices.size(), 1u);
  EXPECT_THAT(Beat(*b).notices, IsEmpty());
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.notice"), 0);
}

TEST_F(MembershipTest, ANoticeThatIsCommittedLateIsNotMissed) {
  const auto a = Joined("a");
  Connection late(Options());
  late.Begin();
  ASSERT_TRUE(late.Execute(SendNotice(a->id(), 1, "late")).ok());
  Run(SendNotice(a->id(), 2, "early"));
  EXPECT_EQ(Beat(*a).notices.size(), 1u);
  ASSERT_TRUE(late.Commit().ok());
  const std::vector<Notice> notices = Beat(*a).notices;
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].body, "late");
}

TEST_F(MembershipTest, ManyNoticesArriveInPortions) {
  const auto host = Joined("a");
  Run(
      {"INSERT INTO agent_graph.notice (instance, kind, body) SELECT $1, 1, '' FROM "
       "generate_series(1, $2)",
       {Value::Uuid(host->id()), Value::Number(Membership::kNoticesMax + 1)}});
  Membership::News news = Beat(*host);
  EXPECT_EQ(news.notices.size(), Membership::kNoticesMax);
  EXPECT_TRUE(news.may_have_more);
  news = Beat(*host);
  EXPECT_EQ(news.notices.size(), 1u);
  EXPECT_FALSE(news.may_have_more);
}

TEST_F(MembershipTest, NoticesSurviveTheServerThatHasNotActedOnThem) {
  const auto first = Joined("a");
  Run(SendNotice(first->id(), 1, "stop"));
  ASSERT_EQ(Beat(*first).notices.size(), 1u);
  const auto next = Joined("a");
  EXPECT_EQ(Beat(*next).notices.size(), 1u);
}

TEST_F(MembershipTest, TheDeadReceiveNoNotices) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  PassGrace({a.get(), b.get()});
  Run(SendNotice(b->id(), 1, "stop"));
  for (int i = 0; i < 4; ++i) BeatLater(*a);
  EXPECT_EQ(Run(SendNotice(b->id(), 1, "stop")).changed(), 0u);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.notice"), 0);
}

TEST_F(MembershipTest, DeadInstancesAreRemovedAfterAnHour) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  const auto c = Joined("c");
  Run(
      {"UPDATE agent_graph.instance SET dead = true, ended = now() - interval '2 hours' WHERE "
       "host IN ('b', 'c')"});
  const std::string used = "instance.id = '" + c->id() + "'";
  EXPECT_EQ(Run(RemoveDeadInstances(used)).changed(), 1u);
  EXPECT_EQ(Run(RemoveDeadInstances()).changed(), 1u);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.instance"), 1);
}

TEST_F(MembershipTest, OneHostAtATimeDoesAJob) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  const auto claim = [&](const Membership& host) {
    Result<std::optional<JobClaim>> claimed = ClaimJob(connection_, "retention", host.id());
    EXPECT_TRUE(claimed.ok()) << claimed.status().ToString();
    return claimed.ok() ? *claimed : std::nullopt;
  };
  const std::optional<JobClaim> first = claim(*a);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(claim(*b).has_value());
  ASSERT_TRUE(FinishJob(connection_, *first, seconds(0)).ok());
  const std::optional<JobClaim> second = claim(*b);
  ASSERT_TRUE(second.has_value());
  // A claim that has ended does not end the next one.
  ASSERT_TRUE(FinishJob(connection_, *first, seconds(0)).ok());
  EXPECT_FALSE(claim(*a).has_value());
  // The claim of a dead instance is void.
  Run({"UPDATE agent_graph.instance SET dead = true WHERE id = $1", {Value::Uuid(b->id())}});
  const std::optional<JobClaim> third = claim(*a);
  ASSERT_TRUE(third.has_value());
  ASSERT_TRUE(FinishJob(connection_, *third, seconds(3600)).ok());
  EXPECT_FALSE(claim(*a).has_value());
}

TEST_F(MembershipTest, AJobThatIsBeingClaimedIsNotWaitedFor) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  Result<std::optional<JobClaim>> first = ClaimJob(connection_, "retention", a->id());
  ASSERT_TRUE(first.ok() && first->has_value());
  ASSERT_TRUE(FinishJob(connection_, **first, seconds(0)).ok());
  Connection other(Options());
  other.Begin();
  ASSERT_TRUE(other.Execute({"SELECT 1 FROM agent_graph.job FOR UPDATE"}).ok());
  Result<std::optional<JobClaim>> second = ClaimJob(connection_, "retention", b->id());
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_FALSE(second->has_value());
  other.Rollback();
}

TEST_F(MembershipTest, BeatsSurviveEndedSessions) {
  const auto a = Joined("a");
  for (int i = 0; i < 10; ++i) {
    Run(
        {"SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = "
         "current_database() AND pid <> pg_backend_pid()"});
    EXPECT_FALSE(BeatLater(*a).lost);
  }
}

TEST_F(MembershipTest, ATransactionThatHoldsItsInstanceEndsBeforeItsDeath) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  PassGrace({a.get(), b.get()});
  Connection zombie(Options());
  zombie.Begin();
  Result<Rows> held = zombie.Execute(HoldInstance(b->id(), b->incarnation()));
  ASSERT_TRUE(held.ok() && held->size() == 1);
  // Beats do not wait for it.
  EXPECT_FALSE(Beat(*b).lost);
  ASSERT_TRUE(zombie.Commit().ok());
  for (int i = 0; i < 4; ++i) BeatLater(*a);
  zombie.Begin();
  held = zombie.Execute(HoldInstance(b->id(), b->incarnation()));
  ASSERT_TRUE(held.ok()) << held.status().ToString();
  EXPECT_TRUE(held->empty());
  zombie.Rollback();
}

TEST_F(MembershipTest, ATransactionInProgressDelaysTheDeclaration) {
  const auto a = Joined("a");
  const auto b = Joined("b");
  PassGrace({a.get(), b.get()});
  ConnectionOptions options = Options();
  options.idle_in_transaction_timeout = std::chrono::milliseconds(0);
  Connection zombie(options);
  zombie.Begin();
  ASSERT_TRUE(zombie.Execute(HoldInstance(b->id(), b->incarnation())).ok());
  // Our own beats do not wait for it.
  for (int i = 0; i < 4; ++i) EXPECT_THAT(BeatLater(*a).declared_dead, IsEmpty());
  ASSERT_TRUE(zombie.Commit().ok());
  EXPECT_THAT(BeatLater(*a).declared_dead, ElementsAre(b->id()));
}

}  // namespace
}  // namespace agent_graph::state::postgres
