// The non-template code of Asio, Beast and URL, compiled once (see
// BOOST_ASIO_SEPARATE_COMPILATION in third_party/system/boost.BUILD).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
#include <boost/url/src.hpp>
