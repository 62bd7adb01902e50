// The access token with which an MCP server is called: obtained when the server asks for one, kept,
// and renewed before it expires or when the server refuses it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "net/http_client.h"
#include "runtime/signal.h"
#include "tools/mcp/client.h"
#include "tools/mcp/oauth/challenge.h"
#include "tools/mcp/oauth/metadata.h"
#include "tools/mcp/oauth/token_request.h"

namespace agent_graph::tools::mcp::oauth {

// Immutable, but for what the server thinks of it.
struct Token {
  std::string text;
  std::vector<std::string> scopes;  // that were asked for
  Deadline renew_at = kNoDeadline;  // before it expires
  Deadline expires_at = kNoDeadline;
  mutable std::atomic<bool> accepted{false};  // by the server, once at least
};
using TokenPtr = std::shared_ptr<const Token>;

// Thread-safe. Tokens are fetched on fibers of their own, one at a time, so that a caller that
// gives up takes nothing from the others. After a failure the next attempt waits, up to a minute.
//
// The credentials go to one authorization server only: the configured one, or the first one that
// the MCP server has named since the worker began.
class Authorizer : public std::enable_shared_from_this<Authorizer> {
 public:
  struct Options {
    std::string url;  // of the MCP server
    Credentials credentials;
    std::vector<std::string> scopes;  // empty: those that the server asks for
    std::string issuer;               // empty: the one that the server names
    std::string token_endpoint;       // empty: the issuer's metadata says it
  };

  Authorizer(Options options, std::shared_ptr<const net::HttpClient> http);

  // The token for a request; null while the server has not asked for one. Waits for a token that is
  // being fetched. Failures: kCancelled, kDeadlineExceeded, kUnavailable.
  Result<TokenPtr> Current(const Patience& patience);
  // Another token than `refused` (null: the request had none), with which the server has answered
  // `challenge`. kUnavailable when another one would be refused, too.
  Result<TokenPtr> Another(const TokenPtr& refused, const Challenge& challenge,
                           const Patience& patience);
  // The server has accepted `token`.
  void Accept(const TokenPtr& token);
  // Puts "***" for tokens and credentials that a server has put into `text`.
  void BlotOut(std::string& text) const;
  // What runs in the background ends soon.
  void Close();

 private:
  Result<TokenPtr> Wait(const TokenPtr& unwanted, const Patience& patience);
  void Postpone(Status failure) AG_REQUIRES(mutex_);
  void FetchInBackground();
  Result<TokenPtr> Fetch();
  void Fetched(Result<TokenPtr> token);

  Status FindServer(const Patience& patience);
  Result<std::string> ChooseIssuer(bool server_names_some) const;
  Result<AuthorizationServer> FindIssuer(const std::string& issuer, const Patience& patience) const;
  Result<TokenReply> Ask(const TokenWish& wish, const Patience& patience) const;
  Result<TokenReply> AskWithRefreshToken(TokenWish wish, const Patience& patience);
  std::vector<std::string> WantedScopes();

  const Options options_;
  const std::shared_ptr<const net::HttpClient> http_;
  const runtime::Cancellation closing_;

  // Of the fetching fiber; there is one at a time.
  std::optional<AuthorizationServer> server_;
  std::optional<Resource> resource_;
  std::string issuer_;         // that the credentials have gone to
  std::string refresh_token_;  // the newest one

  mutable Mutex mutex_;
  bool needed_ AG_GUARDED_BY(mutex_) = false;  // the server wants tokens
  TokenPtr token_ AG_GUARDED_BY(mutex_);
  std::vector<std::string> secrets_ AG_GUARDED_BY(mutex_);   // tokens that were in use lately
  std::vector<std::string> demanded_ AG_GUARDED_BY(mutex_);  // scopes, by the server's challenges
  std::string told_ AG_GUARDED_BY(mutex_);    // where the server says that its metadata is
  bool moved_ AG_GUARDED_BY(mutex_) = false;  // told_ is news
  bool fetching_ AG_GUARDED_BY(mutex_) = false;
  Status failure_ AG_GUARDED_BY(mutex_);  // of the last fetch, or of its token
  std::chrono::milliseconds pause_ AG_GUARDED_BY(mutex_){0};
  Deadline not_before_ AG_GUARDED_BY(mutex_) = Deadline::min();
  std::vector<std::shared_ptr<runtime::Signal>> waiting_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::tools::mcp::oauth
