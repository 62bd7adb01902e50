#include "tools/mcp/oauth/signing_key.h"

#include <gtest/gtest.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>

#include "agent_graph/json.h"
#include "base/base64.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

class KeyPair {
 public:
  explicit KeyPair(EVP_PKEY* key) : key_(key) {}
  ~KeyPair() { EVP_PKEY_free(key_); }

  std::string Pem() const {
    BIO* const bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key_, nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string pem(data, static_cast<size_t>(size));
    BIO_free(bio);
    return pem;
  }

  // True if `token` is signed with this key.
  bool Verifies(const std::string& algorithm, const std::string& token) const {
    const size_t dot = token.rfind('.');
    const std::string text = token.substr(0, dot);
    std::string signature = Decode(token.substr(dot + 1));
    if (algorithm.starts_with("ES")) signature = ToDer(signature);
    const EVP_MD* const digest = algorithm == "EdDSA"   ? nullptr
                                 : algorithm == "ES384" ? EVP_sha384()
                                                        : EVP_sha256();
    EVP_MD_CTX* const context = EVP_MD_CTX_new();
    EVP_PKEY_CTX* parameters = nullptr;
    EVP_DigestVerifyInit(context, &parameters, digest, nullptr, key_);
    if (algorithm == "PS256") EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING);
    const bool good =
        EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()),
                         signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                         text.size()) == 1;
    EVP_MD_CTX_free(context);
    return good;
  }

  static std::string Decode(std::string text) {
    std::replace(text.begin(), text.end(), '-', '+');
    std::replace(text.begin(), text.end(), '_', '/');
    return *DecodeBase64(text);
  }

 private:
  static std::string ToDer(const std::string& raw) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
    const int half = static_cast<int>(raw.size() / 2);
    ECDSA_SIG* const signature = ECDSA_SIG_new();
    ECDSA_SIG_set0(signature, BN_bin2bn(bytes, half, nullptr),
                   BN_bin2bn(bytes + half, half, nullptr));
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(signature, &der);
    std::string text(reinterpret_cast<char*>(der), static_cast<size_t>(size));
    OPENSSL_free(der);
    ECDSA_SIG_free(signature);
    return text;
  }

  EVP_PKEY* const key_;
};

std::string Signed(const KeyPair& pair, const std::string& algorithm) {
  const Result<SigningKeyPtr> key = SigningKey::FromPem(pair.Pem());
  EXPECT_TRUE(key.ok()) << key.status().ToString();
  return (*key)->SignedToken(algorithm, "k1", {{"iss", "me"}});
}

TEST(SigningKeyTest, EveryAlgorithm) {
  const KeyPair rsa(EVP_RSA_gen(2048));
  const KeyPair p256(EVP_EC_gen("P-256"));
  const KeyPair p384(EVP_EC_gen("P-384"));
  const KeyPair ed25519(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const std::pair<const KeyPair*, const char*> cases[] = {
      {&rsa, "RS256"}, {&rsa, "PS256"}, {&p256, "ES256"}, {&p384, "ES384"}, {&ed25519, "EdDSA"}};
  for (const auto& [pair, algorithm] : cases) {
    for (int i = 0; i < 20; ++i) {  // numbers in signatures may be short
      const std::string token = Signed(*pair, algorithm);
      EXPECT_TRUE(pair->Verifies(algorithm, token)) << algorithm;
      const json header = json::parse(KeyPair::Decode(token.substr(0, token.find('.'))));
      EXPECT_EQ(header, json({{"alg", algorithm}, {"typ", "JWT"}, {"kid", "k1"}}));
    }
  }
}

TEST(SigningKeyTest, TheAlgorithmThatAServerAccepts) {
  const KeyPair rsa(EVP_RSA_gen(2048));
  const SigningKeyPtr key = *SigningKey::FromPem(rsa.Pem());
  EXPECT_EQ(key->AlgorithmFor({}), "RS256");
  EXPECT_EQ(key->AlgorithmFor({"PS256"}), "PS256");
  EXPECT_EQ(key->AlgorithmFor({"ES256", "RS256"}), "RS256");
  EXPECT_EQ(key->AlgorithmFor({"HS256"}), "");
}

TEST(SigningKeyTest, OneLineInAnEnvironment) {
  const KeyPair pair(EVP_EC_gen("P-256"));
  std::string line;
  for (const char c : pair.Pem()) line += c == '\n' ? std::string("\\n") : std::string(1, c);
  EXPECT_TRUE(SigningKey::FromPem(line).ok());
}

TEST(SigningKeyTest, WhatIsNoSuchKey) {
  const KeyPair small(EVP_RSA_gen(1024));
  const KeyPair p521(EVP_EC_gen("P-521"));
  for (const std::string& pem : {small.Pem(), p521.Pem(), std::string(), std::string("secret")}) {
    EXPECT_EQ(SigningKey::FromPem(pem).status().code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace agent_graph::tools::mcp::oauth
