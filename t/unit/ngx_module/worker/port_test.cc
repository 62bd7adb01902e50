#include "ngx_module/worker/port.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

// Replaces the parts of nginx that the port uses, with one connection that has no events.

namespace {

ngx_event_t read_event;
ngx_event_t write_event;
ngx_connection_t connection;
ngx_log_t silent_log;
ngx_cycle_t only_cycle;

ngx_int_t AddNoEvent(ngx_event_t*, ngx_int_t, ngx_uint_t) {
  return NGX_OK;
}

}  // namespace

extern "C" {

volatile ngx_cycle_t* ngx_cycle = &only_cycle;
ngx_event_actions_t ngx_event_actions;
ngx_queue_t ngx_posted_next_events;

ngx_connection_t* ngx_get_connection(ngx_socket_t, ngx_log_t*) {
  connection.read = &read_event;
  connection.write = &write_event;
  read_event.data = write_event.data = &connection;
  return &connection;
}

void ngx_free_connection(ngx_connection_t*) {}

void ngx_log_error_core(ngx_uint_t, ngx_log_t*, ngx_err_t, const char*, ...) {}

}  // extern "C"

namespace agent_graph::nginx {

void Log(ngx_log_t*, ngx_uint_t, std::string_view) {}

namespace {

using bridge::LogLevel;
using bridge::WriteLog;

// Keeps the texts of the items; throws at some.
class Receiver final : public PortReceiver {
 public:
  void OnItem(bridge::OutboxItem& item) override {
    const std::string& text = std::get<WriteLog>(item.payload).text;
    if (text == "throw") throw std::runtime_error(text);
    texts.push_back(text);
  }
  void OnBatchEnd() override { ++batches; }
  void OnShutdown() override {}

  std::vector<std::string> texts;
  int batches = 0;
};

class PortTest : public testing::Test {
 protected:
  PortTest() {
    only_cycle.log = &silent_log;
    ngx_queue_init(&ngx_posted_next_events);
    ngx_event_actions.add = AddNoEvent;
    EXPECT_TRUE(port_.Open(&only_cycle));
  }
  ~PortTest() override { port_.Close(); }

  void Push(const char* text) { outbox_.Log(LogLevel::kInfo, text); }
  // The next turn of the event loop. False: it has nothing to do for the port.
  bool RunPosted() {
    if (!read_event.posted) return false;
    ngx_delete_posted_event((&read_event));
    read_event.handler(&read_event);
    return true;
  }

  bridge::Outbox outbox_;
  Receiver receiver_;
  Port port_{outbox_, receiver_};
};

TEST_F(PortTest, AnItemThatThrowsDoesNotKeepTheOthers) {
  for (const char* text : {"a", "throw", "b", "throw"}) Push(text);
  read_event.handler(&read_event);
  EXPECT_EQ(receiver_.texts, (std::vector<std::string>{"a"}));
  EXPECT_TRUE(RunPosted());
  EXPECT_EQ(receiver_.texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(RunPosted());
  EXPECT_EQ(receiver_.batches, 1) << "what the items have touched is written";
  EXPECT_FALSE(RunPosted());
  Push("c");
  read_event.handler(&read_event);
  EXPECT_EQ(receiver_.texts, (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace agent_graph::nginx
