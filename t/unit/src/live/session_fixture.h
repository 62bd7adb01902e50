// The state machine of a session with a client, a model and a clock that the test controls.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/session.h"
#include "live/transfer_tool.h"

namespace agent_graph::live {

using realtime::Event;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Kind = Event::Kind;

inline constexpr size_t kSecondOfAudio = 48'000;  // bytes of one second of audio for a client

class FakeLink : public realtime::Link {
 public:
  explicit FakeLink(std::vector<std::string>& sent) : sent_(sent) {}

  void Begin(const realtime::LinkConfig&) override {}
  void Leave() override { sent_.push_back("leave"); }
  void SendAudio(std::string_view pcm) override { sent_.push_back("audio " + std::string(pcm)); }
  void SendText(const std::string& text) override { sent_.push_back("text " + text); }
  bool SendActivity(bool start) override {
    sent_.push_back(start ? "start" : "end");
    return supports_activity;
  }
  void SendToolReplies(const std::vector<realtime::ToolReply>& replies) override {
    for (const auto& reply : replies) sent_.push_back("reply " + reply.id + reply.output_json);
  }
  void EndAudio() override { sent_.push_back("end audio"); }
  void Truncate(milliseconds heard) override {
    sent_.push_back("heard " + std::to_string(heard.count()));
  }
  bool Reconfigure(const realtime::LinkConfig& config) override {
    if (reconfigurable) sent_.push_back("now " + config.system_prompt);
    return reconfigurable;
  }
  size_t unsent_bytes() const override { return unsent; }
  std::optional<Event> Next() override { return std::nullopt; }

  bool reconfigurable = true;
  bool supports_activity = true;
  size_t unsent = 0;

 private:
  std::vector<std::string>& sent_;
};

class SessionTest : public testing::Test, public SessionPorts {
 protected:
  void Emit(std::string event) override { events_.push_back(std::move(event)); }
  void EmitLast(std::string event) override { Emit(std::move(event)); }
  void EmitAudio(std::string pcm) override {
    audio_ += milliseconds(pcm.size() * 1000 / kSecondOfAudio);
  }
  void FlushAudio() override { unplayed_ = milliseconds(0); }
  milliseconds Unplayed() override { return unplayed_; }
  Deadline Now() override { return now_; }
  realtime::LinkConfig Configure(const std::string& agent) override {
    now_ += configuring_;
    realtime::LinkConfig config;
    config.system_prompt = agent;
    if (auto entry = entries_.find(agent); entry != entries_.end()) config.entry = entry->second;
    return config;
  }
  std::vector<std::string> HandoverTargets(const std::string&) override { return targets_; }
  void OpenLink(const realtime::LinkConfig& config) override {
    configs_.push_back(config);
    link_ = std::make_unique<FakeLink>(sent_);
  }
  void CloseLink() override { link_.reset(); }
  size_t UpstreamBytesMax() override { return 4 * 1024 * 1024; }
  realtime::Link* link() override { return link_.get(); }
  void PrepareNextLink(const realtime::LinkConfig&) override {
    next_ = std::make_unique<FakeLink>(sent_);
    ++prepared_;
  }
  void BeginNextLink(const realtime::LinkConfig& config) override {
    configs_.push_back(config);
    link_ = std::move(next_);
  }
  void DropNextLink() override { next_.reset(); }
  bool OneLinkAtATime() override { return one_link_; }
  bool LinksResume() override { return resumes_; }
  void CallTools(std::vector<realtime::ToolCall> calls, uint64_t number) override {
    for (const auto& call : calls) called_.push_back(call.name);
    calls_number_ = number;
  }
  void Store(Message message) override {
    std::string text(RoleName(message.role));
    text += ": " + message.Text();
    for (const auto* call : message.ToolCalls()) text += "call " + call->name;
    for (const auto* result : message.ToolResults()) text += "result " + result->output_json;
    stored_.push_back(text);
    metadata_.push_back(message.metadata_json);
  }
  void RecordAnswer(Deadline since, std::string_view stop_reason) override {
    const auto took = since == kNoDeadline ? Duration::zero() : now_ - since;
    answers_.push_back(std::string(stop_reason) + " " +
                       std::to_string(std::chrono::duration_cast<milliseconds>(took).count()));
  }
  void StoreHandle(std::string handle) override { handles_.push_back(handle); }
  void Warn(const std::string&) override {}
  void Close(Closing closing) override {
    close_code_ = closing.code;
    outcome_ = closing.outcome;
  }

  Session& Begin(Session::Options options = {}) {
    if (options.agent.empty()) options.agent = "VOICE";
    session_.emplace(*this, std::move(options));
    session_->Start();
    return *session_;
  }
  Session& BeginReady(Session::Options options = {}) {
    Begin(std::move(options));
    Give({.kind = Kind::kReady});
    return *session_;
  }
  void Give(Event event) {
    session_->OnLinkEvent(std::move(event), now_);
    session_->Advance(now_);
  }
  void GiveNext(Event event) {
    session_->OnNextLinkEvent(event);
    session_->Advance(now_);
  }
  void Say(const std::string& text) { Give({.kind = Kind::kOutputTranscript, .text = text}); }
  void Hear(const std::string& text, bool finished = false, size_t later = 0) {
    Give({.kind = Kind::kInputTranscript, .text = text, .finished = finished, .later = later});
  }
  void GiveAudio(milliseconds duration) {
    Give({.kind = Kind::kAudio,
          .text = std::string(static_cast<size_t>(duration.count()) * kSecondOfAudio / 1000, 's')});
  }
  // A call that stays pending until AnswerAdd.
  void CallAdd() { Give({.kind = Kind::kToolCalls, .calls = {{"c1", "add", R"({"a":1})"}}}); }
  void AnswerAdd() {
    session_->OnToolReplies({{"c1", "add", "3", false}}, {}, calls_number_, now_);
    session_->Advance(now_);
  }
  void Client(UpstreamFrame::Kind kind, std::string payload = "") {
    session_->OnFrame({kind, std::move(payload)}, now_);
    session_->Advance(now_);
  }
  void After(milliseconds time) {
    now_ += time;
    session_->Advance(now_);
  }
  std::vector<std::string> TakeEvents() { return std::exchange(events_, {}); }

  Deadline now_ = MonotonicClock::now();
  milliseconds configuring_{0};  // how long Configure takes
  std::optional<Session> session_;
  std::unique_ptr<FakeLink> link_, next_;
  std::vector<std::string> answers_;
  int prepared_ = 0;
  bool one_link_ = false, resumes_ = true;
  std::vector<std::string> events_, sent_, stored_, metadata_, handles_, called_, targets_;
  std::map<std::string, std::string> entries_;  // key: agent
  std::vector<realtime::LinkConfig> configs_;
  milliseconds audio_{0}, unplayed_{0};
  uint64_t calls_number_ = 0;
  uint16_t close_code_ = 0;
  std::optional<Outcome> outcome_;
};

inline constexpr auto kAudio = UpstreamFrame::Kind::kAudio;
inline constexpr auto kText = UpstreamFrame::Kind::kText;
inline constexpr auto kClose = UpstreamFrame::Kind::kClose;

}  // namespace agent_graph::live
