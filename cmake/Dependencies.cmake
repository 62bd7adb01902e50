# All dependencies are packages of Debian 12; see `make deps`.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS context json)
find_package(CURL REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(leveldb REQUIRED)
find_package(ZLIB REQUIRED)
# Header-only library for the vector index of the memory store.
find_path(HNSWLIB_INCLUDE_DIR hnswlib/hnswlib.h REQUIRED)
# Headers only: the library is loaded when PostgreSQL is configured.
find_path(LIBPQ_INCLUDE_DIR postgresql/libpq-fe.h REQUIRED)
find_package(LibXml2 REQUIRED)  # for agent-extract only, like libzip
find_package(nlohmann_json 3.11 REQUIRED)

# Flags for our own code. Headers of libraries are SYSTEM includes, so they cause no warnings.
add_library(agent_graph_flags INTERFACE)
target_compile_options(agent_graph_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wframe-larger-than=16384 -fno-omit-frame-pointer
  -fstack-protector-strong)
# More warnings, for our own code except tests.
add_library(agent_graph_strict INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(agent_graph_strict INTERFACE -Wconversion -Wno-sign-conversion)
  if(AGENT_GRAPH_WERROR)
    # g++ 12 reports these falsely, depending on what it inlines.
    target_compile_options(agent_graph_strict INTERFACE
      -Werror -Wno-restrict -Wno-error=array-bounds -Wno-error=maybe-uninitialized
      -Wno-error=stringop-overflow -Wno-error=stringop-overread)
  endif()
endif()
# Asio is compiled once (engine/runtime/asio_impl.cc) instead of in every file.
target_compile_definitions(agent_graph_flags INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_ARRAY
  BOOST_COROUTINES_NO_DEPRECATION_WARNING)
target_link_libraries(agent_graph_flags INTERFACE Threads::Threads nlohmann_json::nlohmann_json
                      Boost::headers)

# Sanitizers need fibers that announce their stack switches (ucontext instead of assembler) and an
# Asio without memory fences. Debian's library lacks one symbol of that variant: see
# runtime/sanitizer_fiber.cc. -g1 is enough for stack traces and compiles a third faster.
if(AGENT_GRAPH_SANITIZER STREQUAL "thread")
  target_compile_options(agent_graph_flags INTERFACE
    -fsanitize=thread -g1 -O1 -Wno-frame-larger-than -Wno-tsan)
  target_link_options(agent_graph_flags INTERFACE -fsanitize=thread)
  target_compile_definitions(agent_graph_flags INTERFACE
    BOOST_USE_UCONTEXT BOOST_USE_TSAN BOOST_ASIO_DISABLE_FENCED_BLOCK)
elseif(AGENT_GRAPH_SANITIZER STREQUAL "address")
  # Without the null check: using a null pointer ends the process anyway, and the check doubles the
  # compile time.
  target_compile_options(agent_graph_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-sanitize=alignment,null
    -g1 -O1 -Wno-frame-larger-than)
  target_link_options(agent_graph_flags INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(agent_graph_flags INTERFACE
    BOOST_USE_UCONTEXT BOOST_USE_ASAN BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
