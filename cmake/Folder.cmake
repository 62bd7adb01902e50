# agent_graph_folder(engine/state DEPENDS engine/base ... LIBRARIES leveldb::leveldb)
#
# Defines one object library per folder. Subfolders are not included; they are folders of their own.
# DEPENDS lists exactly the folders whose headers the files include: t/tree/include_edges.py, run by
# ctest, fails if an include has no edge here, if an edge is not used, and if there is a cycle.
# LINKS lists folders that are only linked, because they implement functions declared in the SDK's
# headers. If t/unit/<folder> exists, one test program is built from it and added to the target
# `unit_tests`. TESTED_BY names a folder further below in CMakeLists.txt whose test program takes
# these tests as well, because they need that folder. TESTS_LINK lists folders that only the tests
# need; they must be further above.
#
# agent_graph_link(target folder...) links a program with folders and everything they depend on.
if(AGENT_GRAPH_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  enable_testing()
  add_custom_target(unit_tests)
endif()

set(AGENT_GRAPH_EDGES ${CMAKE_BINARY_DIR}/include_edges.txt)
file(WRITE ${AGENT_GRAPH_EDGES} "")

set(AGENT_GRAPH_INCLUDES ${CMAKE_SOURCE_DIR}/engine ${CMAKE_SOURCE_DIR}/engine/include
    ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)

function(agent_graph_folder folder)
  cmake_parse_arguments(ARG "WITH_SUBFOLDERS" "TESTED_BY" "DEPENDS;LINKS;LIBRARIES;TESTS_LINK" ${ARGN})
  string(REPLACE "/" "_" target ${folder})
  set(glob GLOB)
  if(ARG_WITH_SUBFOLDERS)
    set(glob GLOB_RECURSE)
  endif()
  file(${glob} sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc)
  list(JOIN ARG_DEPENDS " " dependencies)
  file(APPEND ${AGENT_GRAPH_EDGES} "${folder}: ${dependencies}\n")

  # Object libraries do not link transitively, so the transitive closure is stored here.
  set(closure)
  set(libraries ${ARG_LIBRARIES})
  if(sources)
    add_library(${target} OBJECT ${sources})
    target_link_libraries(${target} PRIVATE agent_graph_flags ${ARG_LIBRARIES})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/engine
                               ${CMAKE_SOURCE_DIR}/engine/include ${CMAKE_BINARY_DIR}/generated)
    if(folder MATCHES "^src/")
      target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${AGENT_GRAPH_UNITY}
                          UNITY_BUILD_BATCH_SIZE 10)
    if(AGENT_GRAPH_UNITY)
      # Unity builds include source files in others; g++ then treats them as headers and warns.
      target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    endif()
    list(APPEND closure ${target})
  endif()
  foreach(dependency ${ARG_DEPENDS} ${ARG_LINKS})
    get_property(more GLOBAL PROPERTY AGENT_GRAPH_CLOSURE_${dependency})
    list(APPEND closure ${more})
    get_property(more GLOBAL PROPERTY AGENT_GRAPH_LIBRARIES_${dependency})
    list(APPEND libraries ${more})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  list(REMOVE_DUPLICATES libraries)
  set_property(GLOBAL PROPERTY AGENT_GRAPH_CLOSURE_${folder} ${closure})
  set_property(GLOBAL PROPERTY AGENT_GRAPH_LIBRARIES_${folder} ${libraries})

  file(${glob} tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/t/unit/${folder}/*_test.cc)
  if(ARG_TESTED_BY)
    set_property(GLOBAL APPEND PROPERTY AGENT_GRAPH_TESTS_${ARG_TESTED_BY} ${tests})
    return()
  endif()
  get_property(more GLOBAL PROPERTY AGENT_GRAPH_TESTS_${folder})
  list(APPEND tests ${more})
  if(AGENT_GRAPH_TESTS AND tests)
    agent_graph_unit_test(test_${target} FOLDERS ${folder} ${ARG_TESTS_LINK} SOURCES ${tests})
  endif()
endfunction()

function(agent_graph_link target)
  set(closure)
  set(libraries)
  foreach(folder ${ARGN})
    get_property(more GLOBAL PROPERTY AGENT_GRAPH_CLOSURE_${folder})
    list(APPEND closure ${more})
    get_property(more GLOBAL PROPERTY AGENT_GRAPH_LIBRARIES_${folder})
    list(APPEND libraries ${more})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  list(REMOVE_DUPLICATES libraries)
  foreach(object ${closure})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  target_include_directories(${target} PRIVATE ${AGENT_GRAPH_INCLUDES})
  target_link_libraries(${target} PRIVATE agent_graph_flags ${libraries})
endfunction()

# agent_graph_unit_test(test_x FOLDERS engine/x SOURCES x_test.cc ... [LIBRARIES ...])
function(agent_graph_unit_test target)
  cmake_parse_arguments(ARG "" "" "FOLDERS;SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  agent_graph_link(${target} ${ARG_FOLDERS})
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock
                        GTest::gtest_main)
  # Test code is compiled more often than it runs, so it is not optimized; the code under test is.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  if(AGENT_GRAPH_SANITIZER)
    set_source_files_properties(${ARG_SOURCES} PROPERTIES COMPILE_OPTIONS -O0)
  endif()
  # Tests of AG_CHECK bring about states that only a bug could cause: they set private members.
  set(invariants ${ARG_SOURCES})
  list(FILTER invariants INCLUDE REGEX "/invariants_test\\.cc$")
  set_property(SOURCE ${invariants} APPEND PROPERTY COMPILE_OPTIONS -fno-access-control)
  # User graphs that a test loads resolve SDK symbols from the test program.
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900)
  add_dependencies(unit_tests ${target})
endfunction()
