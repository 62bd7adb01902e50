#include "net/tls_contexts.h"

#include <openssl/x509_vfy.h>

#include <chrono>
#include <map>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"

namespace agent_graph::net {
namespace {

using boost::asio::ssl::context;

constexpr std::chrono::hours kKept{24};
// RFC 7301: each name has its length before it.
constexpr std::string_view kOffered = "\x02h2\x08http/1.1";

std::shared_ptr<context> MakeContext(const std::string& ca_file) {
  const auto tls = std::make_shared<context>(context::tls_client);
  boost::system::error_code ignored;
  tls->set_options(context::default_workarounds | context::no_tlsv1 | context::no_tlsv1_1, ignored);
  tls->set_verify_mode(boost::asio::ssl::verify_peer, ignored);
  tls->load_verify_file(ca_file, ignored);
  // An idle connection holds no buffers for records.
  SSL_CTX_set_mode(tls->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_protos(tls->native_handle(),
                          reinterpret_cast<const unsigned char*>(kOffered.data()),
                          static_cast<unsigned int>(kOffered.size()));
  return tls;
}

class TlsContexts {
 public:
  std::shared_ptr<context> For(const std::string& ca_file) {
    MutexLock lock(mutex_);
    Kept& kept = contexts_[ca_file];
    if (kept.tls == nullptr || MonotonicClock::now() >= kept.until) {
      kept = {MakeContext(ca_file), DeadlineAfter(kKept)};
    }
    return kept.tls;
  }

 private:
  struct Kept {
    std::shared_ptr<context> tls;
    Deadline until;
  };

  Mutex mutex_;
  std::map<std::string, Kept> contexts_ AG_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<context> TlsContextFor(const std::string& ca_file) {
  // Never destroyed: engine threads may use it until the process ends.
  static TlsContexts& contexts = *new TlsContexts;
  return contexts.For(ca_file);
}

bool ExpectServer(SSL* tls, const std::string& host) {
  SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host.c_str()) == 1) return true;
  return SSL_set1_host(tls, host.c_str()) == 1 && SSL_set_tlsext_host_name(tls, host.c_str()) == 1;
}

}  // namespace agent_graph::net
