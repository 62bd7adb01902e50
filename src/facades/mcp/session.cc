#include "facades/mcp/session.h"

#include <cstdint>

#include "auth/sealed_text.h"
#include "base/clock.h"
#include "base/ids.h"
#include "facades/mcp/request_headers.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::mcp {
namespace {

constexpr std::string_view kSessionPurpose = "session";
constexpr char kEndedRoute[] = "mcp ended session";
constexpr size_t kSessionIdBytesMax = 256;
constexpr size_t kNonceBytes = 32;
constexpr char kForms = 1;
constexpr char kPages = 2;

std::string PurposeFor(const api::HandlerContext& context, std::string_view purpose) {
  return std::string(purpose) + '\0' + context.caller().user_id;
}

void AppendInteger(std::string& out, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift);
}

uint64_t IntegerAt(std::string_view text) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  }
  return value;
}

// The payload: nonce, time of the end, capabilities, revision.
constexpr size_t kFixedBytes = kNonceBytes + 8 + 1;

}  // namespace

Result<std::string> SealFor(api::HandlerContext& context, std::string_view purpose,
                            std::string_view payload) {
  AG_ASSIGN_OR_RETURN(const std::string secret, context.api().secret->Get(context.state()));
  return auth::Seal(secret, PurposeFor(context, purpose), payload);
}

Result<std::optional<std::string>> UnsealFor(api::HandlerContext& context, std::string_view purpose,
                                             std::string_view text) {
  AG_ASSIGN_OR_RETURN(const std::string secret, context.api().secret->Get(context.state()));
  return auth::Unseal(secret, PurposeFor(context, purpose), text);
}

Result<std::string> BeginSession(api::HandlerContext& context, Peer& peer) {
  peer.session = NewHexId();
  std::string payload = peer.session;
  AppendInteger(payload, static_cast<uint64_t>(UnixSeconds()) + kSessionSeconds);
  payload += static_cast<char>((peer.fills_forms ? kForms : 0) | (peer.opens_pages ? kPages : 0));
  payload += peer.revision;
  return SealFor(context, kSessionPurpose, payload);
}

Result<Peer> FindSession(api::HandlerContext& context) {
  const std::string_view id = context.head().Header(kSessionHeader);
  if (id.empty()) return InvalidArgument("the header Mcp-Session-Id is required");
  const Status unknown = NotFound("there is no such session");
  if (id.size() > kSessionIdBytesMax) return unknown;
  AG_ASSIGN_OR_RETURN(const std::optional<std::string> payload,
                      UnsealFor(context, kSessionPurpose, id));
  if (!payload || payload->size() < kFixedBytes) return unknown;
  const std::string_view text = *payload;
  if (IntegerAt(text.substr(kNonceBytes)) < static_cast<uint64_t>(UnixSeconds())) return unknown;
  Peer peer;
  peer.session = text.substr(0, kNonceBytes);
  const char capabilities = text[kNonceBytes + 8];
  peer.fills_forms = (capabilities & kForms) != 0;
  peer.opens_pages = (capabilities & kPages) != 0;
  peer.revision = text.substr(kFixedBytes);
  const Status ended =
      context.state().FindKey({context.caller().user_id, kEndedRoute, peer.session}).status();
  if (ended.ok()) return unknown;
  if (ended.code() != StatusCode::kNotFound) return ended;
  return peer;
}

Status EndSession(api::HandlerContext& context, const Peer& peer) {
  return context.state()
      .ClaimKey({context.caller().user_id,
                 {kEndedRoute, peer.session, ""},
                 "",
                 UnixMicros() + kSessionSeconds * kMicrosPerSecond})
      .status();
}

}  // namespace agent_graph::mcp
