// The export of runs to a collector that refuses them.
#include "telemetry/exporter.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "../../engine/net/scripted_server.h"
#include "runtime/runtime.h"

namespace agent_graph::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Connection;
using ::testing::ElementsAre;
using testing::ScriptedServer;

constexpr char kBusy[] =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
constexpr char kTaken[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
constexpr char kRefused[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";

// A run that fills a batch.
run::RunRecord LargeRun() {
  run::RunRecord run;
  run.thread_id = "t";
  run.run_id = "r";
  run.entries = {{"note", std::string(300'000, ' '), 1}};
  return run;
}

// An exporter to a server that answers each request with `answer`, which gets its number.
class ExporterTest : public ::testing::Test {
 protected:
  void Start(std::function<std::string(int)> answer) {
    server_ = std::make_unique<ScriptedServer>([this, answer](Connection& connection) {
      while (connection.ReadRequest()) {
        const int number = requests_++;
        connection.Send(answer(number));
      }
    });
    settings_.observability.endpoint = server_->url("/v1/traces");
    settings_.observability.interval_ms = 1;
    exporter_ = std::make_unique<Exporter>(settings_, [this](const std::string& line) {
      std::lock_guard lock(mutex_);
      lines_.push_back(line);
    });
    ASSERT_TRUE(runtime_.Start().ok());
  }

  void Finish() {
    exporter_->Close(runtime_, seconds(60));
    ASSERT_TRUE(runtime_.Stop(DeadlineAfter(seconds(60))).ok());
  }

  settings::Settings settings_;
  std::atomic<int> requests_ = 0;
  std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Exporter> exporter_;
  runtime::Runtime runtime_{{}};
};

TEST_F(ExporterTest, KeepsThePauseOfTheCollectorWhenTheQueueIsFull) {
  std::promise<Deadline> refused;
  std::promise<Deadline> repeated;
  Start([&](int number) {
    if (number == 0) {
      exporter_->Offer(LargeRun());
      refused.set_value(MonotonicClock::now());
      return kBusy;
    }
    if (number == 1) repeated.set_value(MonotonicClock::now());
    return kTaken;
  });
  exporter_->Offer(LargeRun());
  exporter_->Start(runtime_);
  const Deadline end = refused.get_future().get() + seconds(1);
  EXPECT_GE(repeated.get_future().get(), end);
  Finish();
  EXPECT_EQ(requests_, 3);
}

TEST_F(ExporterTest, TheParentDecidesAboutSamplingIfThereIsOne) {
  constexpr char kSampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  constexpr char kUnsampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  settings_.observability.sample_millionths = 0;
  // Two runs do not fit.
  settings_.observability.queue_bytes_max = 400'000;
  Start([](int) { return kTaken; });
  for (const char* parent : {kUnsampled, "x", "", kSampled}) {
    run::RunRecord run = LargeRun();
    run.trace_parent = parent;
    exporter_->Offer(std::move(run));
  }
  exporter_->Start(runtime_);
  Finish();
  EXPECT_EQ(requests_, 1) << "the sampled one";
  EXPECT_THAT(lines_, ::testing::IsEmpty()) << "the others are not missing";
}

TEST_F(ExporterTest, ReportsBatchesThatFailWithOneLine) {
  Start([](int) { return kRefused; });
  for (int number = 0; number < 3; ++number) exporter_->Offer(LargeRun());
  exporter_->Start(runtime_);
  Finish();
  EXPECT_EQ(requests_, 3);
  EXPECT_THAT(lines_, ElementsAre("1 runs were not exported as traces: UNAVAILABLE: the collector "
                                  "answered 400"));
}

}  // namespace
}  // namespace agent_graph::telemetry
