// A folder with a service.json and a state directory, and the event loop's side of a service: it
// submits exchanges and collects what the engine sends.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/routes.h"
#include "bridge/exchange.h"
#include "service/service.h"
#include "settings/settings.h"

namespace agent_graph::service {

struct Answer {
  int status = 0;
  bridge::HeaderList headers;
  std::string body;
  std::string outcome;

  json Json() const { return json::parse(body); }
  bool HasHeader(const std::string& name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return true;
    }
    return false;
  }
};

// Plays the event loop for one service.
class Loop {
 public:
  explicit Loop(Service& service) : service_(service) {}

  // False if the service refuses the request; a request in flight then stays the current one.
  bool Begin(const std::string& method, const std::string& path, const std::string& body = "") {
    const api::RouteMatch match = api::MatchRoute({}, method, path);
    EXPECT_EQ(match.kind, api::RouteMatch::Kind::kFound) << path;
    bridge::RequestHead head;
    head.route = match.route;
    head.path_parameters = match.path_parameters;
    head.method = method;
    head.path = path;
    head.request_id = "r-1";
    const uint32_t slot = ++slots_;
    auto exchange =
        std::make_shared<bridge::Exchange>(bridge::ExchangeAddress{slot, 1}, std::move(head),
                                           service_.outbox(), bridge::CreditLimits{});
    exchange->body().Deliver({.bytes = body});
    if (!service_.inbox().Submit(exchange)) return false;
    slot_ = slot;
    answer_ = {};
    exchange_ = exchange;
    return true;
  }
  // Ends the request as the event loop of a leaving worker does.
  void Cancel() {
    if (const auto exchange = exchange_.lock()) exchange->Cancel(runtime::CancelReason::kShutdown);
  }
  // Waits until the run of the request is in its first node.
  void AwaitRun() {
    const auto has_note = [this] {
      const auto exchange = exchange_.lock();
      return exchange != nullptr && exchange->TakeNote().has_value();
    };
    // The exchange rings no bell for a note.
    while (!has_note() && answer_.outcome.empty()) Receive(std::chrono::milliseconds(1));
    EXPECT_EQ(answer_.outcome, "");
  }
  Answer Await() {
    while (answer_.outcome.empty()) Receive();
    return std::exchange(answer_, {});
  }
  Answer Ask(const std::string& method, const std::string& path, const std::string& body = "") {
    EXPECT_TRUE(Begin(method, path, body));
    return Await();
  }
  Answer Invoke(const std::string& thread_id, const std::string& text) {
    const json request = {{"messages", {{{"role", "user"}, {"content", text}}}},
                          {"config", {{"thread_id", thread_id}}}};
    return Ask("POST", "/v1/graph/invoke", request.dump());
  }

  // Lines for the error log so far.
  std::vector<std::string> lines;

 private:
  // Waits for items, but not longer than `wait_max`; negative: without a limit.
  void Receive(std::chrono::milliseconds wait_max = std::chrono::milliseconds(-1)) {
    pollfd bell{service_.outbox().doorbell(), POLLIN, 0};
    if (poll(&bell, 1, static_cast<int>(wait_max.count())) == 0) return;
    service_.outbox().ClearDoorbell();
    std::vector<bridge::OutboxItem> items;
    service_.outbox().Swap(items);
    for (bridge::OutboxItem& item : items) Take(item);
  }
  void Take(bridge::OutboxItem& item) {
    if (auto* line = std::get_if<bridge::WriteLog>(&item.payload)) {
      lines.push_back(std::move(line->text));
    }
    if (item.address.slot != slot_) return;
    if (auto* head = std::get_if<bridge::SendHead>(&item.payload)) {
      answer_.status = head->head.status;
      answer_.headers = std::move(head->head.headers);
    } else if (auto* chunk = std::get_if<bridge::SendChunk>(&item.payload)) {
      answer_.body += chunk->bytes;
    } else if (auto* end = std::get_if<bridge::End>(&item.payload)) {
      answer_.outcome = end->outcome;
    }
  }

  inline static uint32_t slots_ = 0;  // slots of all loops

  Service& service_;
  uint32_t slot_ = 0;
  std::weak_ptr<bridge::Exchange> exchange_;
  Answer answer_;
};

class ServiceTest : public testing::Test {
 protected:
  static constexpr std::chrono::minutes kPatience{5};

  ServiceTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "service-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    Write("graph.json", Graph("default"));
  }
  ~ServiceTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  // A graph with one agent that asks `model`; its export is named "app".
  static std::string Graph(const std::string& model) {
    const json graph = {
        {"app",
         {{"nodes", {{{"name", "MAIN"}, {"type", "agent"}, {"model", model}}}},
          {"edges", {{{"from", "START"}, {"to", "MAIN"}}, {{"from", "MAIN"}, {"to", "END"}}}}}}};
    return graph.dump();
  }
  // The agent of a test graph, in a form that service.json takes.
  static std::string TestAgent(const std::string& name) {
    return std::string(AGENT_GRAPH_TEST_GRAPHS) + "/" + name;
  }

  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // Settings of the agent in graph.json, with these members.
  settings::Settings Settings(const json& members = json::object(),
                              const settings::Environment& environment = {}) const {
    json all = {{"agent", "graph.json:app"}};
    all.update(members);
    auto settings = settings::Load(directory_ + "/service.json", all.dump(), environment);
    EXPECT_TRUE(settings.ok()) << settings.status().ToString();
    return settings.ok() ? *std::move(settings) : settings::Settings{};
  }

  Result<std::unique_ptr<Service>> Create(const settings::Settings& settings,
                                          bool state_in_process = true) const {
    ServiceOptions options;
    options.name = "test";
    options.state_directory = directory_ + "/state";
    options.state_in_process = state_in_process;
    options.nginx = "nginx-1";
    return Service::Create(std::make_shared<const settings::Settings>(settings),
                           std::move(options));
  }
  // Creates a service and starts it.
  std::unique_ptr<Service> Start(const settings::Settings& settings,
                                 bool state_in_process = true) const {
    auto service = Create(settings, state_in_process);
    EXPECT_TRUE(service.ok()) << service.status().ToString();
    if (!service.ok()) return nullptr;
    const Status started = (*service)->Start();
    EXPECT_TRUE(started.ok()) << started.ToString();
    return *std::move(service);
  }
  static void Stop(Service& service) {
    const Status stopped = service.Stop(DeadlineAfter(kPatience));
    EXPECT_TRUE(stopped.ok()) << stopped.ToString();
  }

  std::string directory_;
};

}  // namespace agent_graph::service
