// Requests whose answers may be large take turns before they read.
#include <vector>

#include "../../engine/state/recorded_memories.h"
#include "api/http/page_reads.h"
#include "dispatch_fixture.h"
#include "evals/directory.h"
#include "memory/memory_store.h"

namespace agent_graph::api {
namespace {

class TurnsTest : public DispatchTest {
 protected:
  TurnsTest() : embedder_(memory::MakeEmbedder({}, {}).value()), store_(memories_, *embedder_) {
    api_.memory = &store_;
    api_.reports = &reports_;
  }

  static std::string BodyOf(const std::string& method) {
    return method == "POST" ? R"({"query":"tea"})" : "";
  }

  // The status of a request whose client leaves when the request has to wait.
  int StatusOfImpatient(const std::string& method, const std::string& target) {
    auto exchange = std::make_shared<bridge::Exchange>(
        bridge::ExchangeAddress{1, 1}, Head(method, target), outbox_, bridge::CreditLimits{});
    exchange->body().Deliver({.bytes = BodyOf(method)});
    runtime::Promise<bool> done;
    runtime_.Spawn([=, this] {
      Dispatch(exchange, api_);
      done.Set(true);
    });
    // A later fiber of the only engine thread begins when the request waits, or has been answered.
    runtime::Promise<bool> waits;
    runtime_.Spawn([=] { waits.Set(true); });
    EXPECT_TRUE(waits.Wait(nullptr, kNoDeadline).ok());
    exchange->Cancel(runtime::CancelReason::kClientGone);
    EXPECT_TRUE(done.Wait(nullptr, kNoDeadline).ok());
    return Take().status;
  }

  void ExpectTurns(PageReads& reads, size_t places, const std::string& method,
                   const std::string& target) {
    const int served = Send(method, target, BodyOf(method)).status;
    ASSERT_NE(served, 503) << target;
    std::vector<PageReads::Place> taken;
    const runtime::Cancellation never;
    for (size_t i = 0; i < places; ++i) {
      Result<PageReads::Place> place = reads.Enter(never, kNoDeadline);
      ASSERT_TRUE(place.ok());
      taken.push_back(*std::move(place));
    }
    EXPECT_EQ(StatusOfImpatient(method, target), 503) << target;
    taken.clear();
    EXPECT_EQ(Send(method, target, BodyOf(method)).status, served) << target;
  }

  state::RecordedMemories memories_;
  std::unique_ptr<memory::Embedder> embedder_;
  memory::MemoryStore store_;
  evals::ReportDirectory reports_{"/nonexistent/eval_reports"};
};

TEST_F(TurnsTest, PagesAndItems) {
  for (const char* target : {"/v1/threads", "/v1/threads/t", "/v1/threads/t/messages",
                             "/v1/threads/t/messages/m", "/v1/threads/t/runs"}) {
    ExpectTurns(*api_.page_reads, kPageReadsMax, "GET", target);
  }
  ExpectTurns(*api_.page_reads, kPageReadsMax, "POST", "/v1/store/memories/m");
}

TEST_F(TurnsTest, Searches) {
  for (const char* target : {"/v1/threads?search=x", "/v1/threads?limit=1&%73earch=x"}) {
    ExpectTurns(*api_.page_searches, kPageReadsMax, "GET", target);
  }
  // The name of the parameter only.
  ExpectTurns(*api_.page_reads, kPageReadsMax, "GET", "/v1/threads?cursor=research=x");
  ExpectTurns(*api_.page_searches, kPageReadsMax, "POST", "/v1/store/search");
}

// One at a time: a second one would wait on a thread of the io pool.
TEST_F(TurnsTest, Reports) {
  ExpectTurns(*api_.report_reads, 1, "GET", "/v1/evals/runs");
  ExpectTurns(*api_.report_reads, 1, "GET", "/v1/evals/runs/r");
}

}  // namespace
}  // namespace agent_graph::api
