// An MCP server with faults that the test selects.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../net/scripted_server.h"
#include "agent_graph/json.h"

namespace agent_graph::tools {

class ScriptedMcpServer {
 public:
  ScriptedMcpServer() : server_([this](testing::Connection& connection) { Serve(connection); }) {}

  std::string url() const { return server_.url("/mcp"); }

  // Sets the pages of tools/list.
  void SetPages(std::vector<std::vector<std::string>> pages) {
    std::lock_guard lock(mutex_);
    pages_ = std::move(pages);
  }
  void ForgetSessions() {
    std::lock_guard lock(mutex_);
    ++session_;
  }
  std::vector<std::string> methods() const {
    std::lock_guard lock(mutex_);
    return methods_;
  }

  std::atomic<bool> announces{false};  // offers a stream for its own notifications
  // Sends every listener a notification that the tools have changed; false if there is no listener.
  bool Announce() {
    std::lock_guard lock(mutex_);
    for (testing::Connection* listener : listeners_) {
      listener->SendChunk(
          "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n");
    }
    return !listeners_.empty();
  }
  // Ends the stream of every listener.
  void EndStreams() {
    std::lock_guard lock(mutex_);
    for (testing::Connection* listener : listeners_) {
      listener->SendChunk("");
      listener->Shutdown();
    }
    listeners_.clear();
  }
  std::atomic<int> refusals{0};        // number of listeners to refuse
  std::atomic<int> refused_with{503};  // HTTP status of these refusals

  std::atomic<bool> stream{false};    // replies are events, after a ping and a notification
  std::atomic<bool> broken{false};    // answers HTTP 500
  std::atomic<bool> silent{false};    // never answers tools/call
  std::atomic<bool> wrong_id{false};  // replies to a request that was never sent
  std::atomic<int> lost_status{404};

 private:
  void Serve(testing::Connection& connection) {
    while (const std::optional<std::string> request = connection.ReadRequest()) {
      if (!Answer(connection, *request)) return;
    }
  }

  static bool Send(testing::Connection& connection, const std::string& status,
                   const std::string& head, const std::string& body) {
    return connection.Send("HTTP/1.1 " + status + "\r\n" + head +
                           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  bool Answer(testing::Connection& connection, const std::string& request) {
    if (broken) return Send(connection, "500 Oops", "", "");
    if (request.starts_with("GET ") && announces) return Listen(connection, request);
    if (!request.starts_with("POST ")) return Send(connection, "405 No", "", "");
    const json message = json::parse(request.substr(request.find("\r\n\r\n") + 4));
    const std::string method = message.value("method", "");
    {
      std::lock_guard lock(mutex_);
      methods_.push_back(method.empty() ? "answer" : method);
    }
    const std::string session = Session();
    if (method != "initialize" && !IsIn(session, request)) return Lost(connection);
    if (!message.contains("id") || method.empty()) return Send(connection, "202 Ok", "", "");
    if (silent && method == "tools/call") {
      connection.WaitUntilPeerCloses();
      return false;
    }
    json reply = Reply(message);
    reply["jsonrpc"] = "2.0";
    reply["id"] = wrong_id && method == "tools/call" ? json(4'000'000'000) : message["id"];
    const std::string head = "Mcp-Session-Id: " + session + "\r\nContent-Type: ";
    if (!stream) return Send(connection, "200 OK", head + "application/json\r\n", reply.dump());
    return Send(
        connection, "200 OK", head + "text/event-stream\r\n",
        ": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"ping\"}"
        "\n\nid: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"
        "data: " +
            reply.dump() + "\n\n");
  }

  std::string Session() const {
    std::lock_guard lock(mutex_);
    return "session-" + std::to_string(session_);
  }
  static bool IsIn(const std::string& session, const std::string& request) {
    return request.find("Mcp-Session-Id: " + session) != std::string::npos;
  }
  bool Lost(testing::Connection& connection) const {
    return Send(connection, std::to_string(lost_status) + " Lost", "", "");
  }

  bool Listen(testing::Connection& connection, const std::string& request) {
    if (refusals > 0) {
      const bool sent = Send(connection, std::to_string(refused_with) + " No", "", "");
      --refusals;
      return sent;
    }
    if (!IsIn(Session(), request)) return Lost(connection);
    connection.Send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    {
      std::lock_guard lock(mutex_);
      listeners_.push_back(&connection);
    }
    connection.WaitUntilPeerCloses();
    std::lock_guard lock(mutex_);
    std::erase(listeners_, &connection);
    return false;
  }

  json Reply(const json& message) {
    const std::string method = message["method"];
    if (method == "initialize") {
      return {{"result",
               {{"protocolVersion", "2025-06-18"},
                {"capabilities", {{"tools", {{"listChanged", announces.load()}}}}}}}};
    }
    if (method == "tools/list") return {{"result", Page(message["params"])}};
    const json& params = message["params"];
    if (params["name"] == "fail") return {{"error", {{"code", -32602}, {"message", "no such"}}}};
    const json text = {{"type", "text"}, {"text", params["arguments"].dump()}};
    return {{"result", {{"content", {text}}, {"isError", params["name"] == "unhappy"}}}};
  }

  json Page(const json& params) const {
    const size_t page = std::stoul(params.value("cursor", "0"));
    std::lock_guard lock(mutex_);
    json result = {{"tools", json::array()}};
    if (page >= pages_.size()) return result;
    for (const std::string& name : pages_[page]) {
      result["tools"].push_back({{"name", name},
                                 {"description", "Does " + name},
                                 {"inputSchema", {{"type", "object"}}},
                                 {"annotations", {{"readOnlyHint", name == "read"}}}});
    }
    if (page + 1 < pages_.size()) result["nextCursor"] = std::to_string(page + 1);
    return result;
  }

  mutable std::mutex mutex_;  // guards the fields below
  std::vector<std::vector<std::string>> pages_;
  std::vector<std::string> methods_;
  std::vector<testing::Connection*> listeners_;
  int session_ = 1;
  testing::ScriptedServer server_;
};

}  // namespace agent_graph::tools
