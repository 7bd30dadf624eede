/* SPDX-License-Identifier: Apache-2.0
 *
 * zmq-proxy PATH: ZeroMQ as a broker. PUB connects to PATH, SUB to PATH.sub, REQ to PATH.req and REP to PATH.rep. No
 * queue is cut short.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static void *context;

static void *listen_on(int type, const char *path, const char *suffix)
{
	char address[256];
	snprintf(address, sizeof address, "ipc://%s%s", path, suffix);
	void *socket = zmq_socket(context, type);
	int unlimited = 0;
	if (!socket || zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited) != 0
	    || zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited) != 0 || zmq_bind(socket, address) != 0) {
		fprintf(stderr, "%s: %s\n", address, zmq_strerror(zmq_errno()));
		exit(1);
	}
	return socket;
}

static void *serve(void *sockets)
{
	zmq_proxy(((void **)sockets)[0], ((void **)sockets)[1], NULL);
	return NULL;
}

int main(int count, char **arguments)
{
	int major, minor, patch;
	zmq_version(&major, &minor, &patch);
	if (count != 2 || strcmp(arguments[1], "--version") == 0)
		return printf("%d.%d.%d\n", major, minor, patch) < 0;
	context = zmq_ctx_new();
	/* PATH comes last: a client that finds it finds all. */
	void *requests[] = { listen_on(ZMQ_ROUTER, arguments[1], ".req"), listen_on(ZMQ_DEALER, arguments[1], ".rep") };
	void *observers = listen_on(ZMQ_XPUB, arguments[1], ".sub");
	void *posts[] = { listen_on(ZMQ_XSUB, arguments[1], ""), observers };
	pthread_t thread;
	if (pthread_create(&thread, NULL, serve, requests) != 0)
		return 1;
	serve(posts);
	return 1;
}
