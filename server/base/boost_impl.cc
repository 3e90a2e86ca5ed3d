// The non-template code of Asio and Beast, compiled once (see
// BOOST_ASIO_SEPARATE_COMPILATION in third_party/system/boost.BUILD).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
