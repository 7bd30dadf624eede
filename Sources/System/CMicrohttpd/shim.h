/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrappers of libmicrohttpd's variadic functions, which Swift cannot call.
 */
#pragma once

#include <microhttpd.h>

struct tribune_http_settings {
	/* A listening socket. The HTTP daemon owns it. */
	int socket;
	unsigned int connections_max;
	unsigned int connections_max_per_address;
	/* The memory for each connection, in bytes. */
	size_t memory_max;
	unsigned int idle_seconds_max;
	MHD_AccessHandlerCallback answer;
	/* Called at the beginning and after the end of each connection. */
	MHD_NotifyConnectionCallback notify;
	void *context;
};

/* Starts an HTTP daemon that has no thread. The daemon works only while MHD_run() runs. */
static inline struct MHD_Daemon *tribune_http_start(const struct tribune_http_settings *settings)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, settings->answer,
	                        settings->context, MHD_OPTION_LISTEN_SOCKET, settings->socket,
	                        MHD_OPTION_CONNECTION_LIMIT, settings->connections_max,
	                        MHD_OPTION_PER_IP_CONNECTION_LIMIT, settings->connections_max_per_address,
	                        MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->memory_max,
	                        MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_seconds_max, MHD_OPTION_STRICT_FOR_CLIENT, 1,
	                        MHD_OPTION_NOTIFY_CONNECTION, settings->notify, settings->context, MHD_OPTION_END);
}

static inline int tribune_http_events(struct MHD_Daemon *daemon)
{
	return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

static inline int tribune_http_socket(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}
