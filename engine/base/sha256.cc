#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/hex.h"

namespace agent_graph {

Sha256Digest Sha256(std::string_view bytes) {
  Sha256Digest digest;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

std::string Sha256Hex(std::string_view bytes) {
  const Sha256Digest digest = Sha256(bytes);
  return Hex(digest.data(), digest.size());
}

}  // namespace agent_graph
