// An MCP server for which a test writes the answer to each HTTP request.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../net/scripted_server.h"
#include "agent_graph/json.h"
#include "base/letter_case.h"

namespace agent_graph::tools {

struct ScriptedRequest {
  std::string verb;  // POST, GET, DELETE
  std::string path;
  std::string head;    // request line and headers
  std::string text;    // the raw body
  json body;           // the body if it is JSON
  std::string method;  // JSON-RPC method; "answer" for a reply to the server
  json id;
  json params;
  json call_id;  // id of the newest tools/call

  // Returns an empty string if there is no such header.
  std::string Header(const std::string& name) const {
    size_t begin = head.find("\r\n");
    while (begin != std::string::npos) {
      begin += 2;
      const size_t end = std::min(head.find("\r\n", begin), head.size());
      const std::string line = head.substr(begin, end - begin);
      const size_t colon = line.find(':');
      if (colon != std::string::npos && EqualsIgnoringCase(line.substr(0, colon), name)) {
        const size_t value = line.find_first_not_of(' ', colon + 1);
        return value == std::string::npos ? "" : line.substr(value);
      }
      begin = end == head.size() ? std::string::npos : end;
    }
    return "";
  }
};

class RequestScript {
 public:
  // Answers on `connection`; returns false to close it.
  using Answer = std::function<bool(testing::Connection& connection, const ScriptedRequest&)>;

  explicit RequestScript(Answer answer)
      : answer_(std::move(answer)),
        server_([this](testing::Connection& connection) { Serve(connection); }) {}

  std::string url() const { return server_.url("/mcp"); }
  std::string origin() const { return server_.url(""); }

  std::vector<ScriptedRequest> requests() const {
    std::lock_guard lock(mutex_);
    return requests_;
  }
  std::vector<ScriptedRequest> requests(const std::string& method_or_verb) const {
    std::vector<ScriptedRequest> some;
    for (ScriptedRequest& request : requests()) {
      if (request.method == method_or_verb || request.verb == method_or_verb) {
        some.push_back(std::move(request));
      }
    }
    return some;
  }
  std::vector<ScriptedRequest> requests_of(const std::string& path) const {
    std::vector<ScriptedRequest> some;
    for (ScriptedRequest& request : requests()) {
      if (request.path == path) some.push_back(std::move(request));
    }
    return some;
  }

  static bool Send(testing::Connection& connection, const std::string& status,
                   const std::string& headers, const std::string& body) {
    return connection.Send("HTTP/1.1 " + status + "\r\n" + headers +
                           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  static bool Json(testing::Connection& connection, const json& document) {
    return Send(connection, "200 OK", "Content-Type: application/json\r\n", document.dump());
  }
  static bool Reply(testing::Connection& connection, const ScriptedRequest& request,
                    const json& result, const std::string& headers = "") {
    const json reply = {{"jsonrpc", "2.0"}, {"id", request.id}, {"result", result}};
    return Send(connection, "200 OK", "Content-Type: application/json\r\n" + headers, reply.dump());
  }
  static bool Refuse(testing::Connection& connection, const ScriptedRequest& request,
                     const std::string& status, const json& error) {
    const json reply = {{"jsonrpc", "2.0"}, {"id", request.id}, {"error", error}};
    return Send(connection, status, "Content-Type: application/json\r\n", reply.dump());
  }
  // A stream of `events` that ends after them.
  static bool Stream(testing::Connection& connection, const std::string& events) {
    connection.Send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events);
    return false;
  }
  static std::string ReplyEvent(const json& id, const json& result,
                                const std::string& fields = "") {
    const json reply = {{"jsonrpc", "2.0"}, {"id", id}, {"result", result}};
    return fields + "data: " + reply.dump() + "\n\n";
  }
  static json Text(const std::string& text) {
    return {{"content", {{{"type", "text"}, {"text", text}}}}};
  }

 private:
  void Serve(testing::Connection& connection) {
    while (const std::optional<std::string> text = connection.ReadRequest()) {
      ScriptedRequest request;
      request.verb = text->substr(0, text->find(' '));
      const size_t path = request.verb.size() + 1;
      request.path = text->substr(path, text->find(' ', path) - path);
      const size_t end = text->find("\r\n\r\n");
      request.head = text->substr(0, end);
      request.text = text->substr(end + 4);
      request.body = json::parse(request.text, nullptr, /*allow_exceptions=*/false);
      if (request.body.is_object()) {
        request.method = request.body.value("method", "answer");
        request.id = request.body.value("id", json());
        request.params = request.body.value("params", json::object());
      }
      {
        std::lock_guard lock(mutex_);
        if (request.method == "tools/call") call_id_ = request.id;
        request.call_id = call_id_;
        requests_.push_back(request);
      }
      if (!answer_(connection, request)) return;
    }
  }

  const Answer answer_;
  mutable std::mutex mutex_;
  std::vector<ScriptedRequest> requests_;  // guarded by mutex_
  json call_id_;                           // guarded by mutex_
  testing::ScriptedServer server_;
};

// A server with a session and the tool "echo"; all other requests go to `other`.
inline RequestScript::Answer WithSession(RequestScript::Answer other) {
  return
      [other = std::move(other)](testing::Connection& connection, const ScriptedRequest& request) {
        if (request.method == "server/discover") {
          return RequestScript::Send(connection, "400 No session", "", "");
        }
        if (request.method == "initialize") {
          return RequestScript::Reply(connection, request,
                                      {{"protocolVersion", request.params["protocolVersion"]},
                                       {"capabilities", {{"tools", json::object()}}}},
                                      "Mcp-Session-Id: s1\r\n");
        }
        if (request.method == "tools/list") {
          return RequestScript::Reply(
              connection, request,
              {{"tools", {{{"name", "echo"}, {"inputSchema", {{"type", "object"}}}}}}});
        }
        // There is no stream of the session's own.
        if (request.verb == "GET" && request.Header("Last-Event-ID").empty()) {
          return RequestScript::Send(connection, "405 No", "", "");
        }
        if (request.method.starts_with("notifications/") || request.verb == "DELETE") {
          return RequestScript::Send(connection, "202 Accepted", "", "");
        }
        return other(connection, request);
      };
}

}  // namespace agent_graph::tools
