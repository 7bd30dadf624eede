// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem

package final class NATSProgram: ServiceProgram {
  package static let name = "tribune-nats"

  private let gateway: Gateway

  package static func load(from directory: String?) -> (NATSSettings, [Diagnostic]) {
    NATSSettings.load(from: directory, hostName: HostName.current)
  }

  package init(_ settings: NATSSettings, _ arguments: ServiceArguments) {
    gateway = Gateway(settings) { ServiceNotifier.service.status($0) }
    do throws(Errno) {
      gateway.serve(try PassedToService.take())
    } catch {
      ServiceLog.error("the sockets that were passed cannot be taken: \(error)")
    }
  }

  package func start() async { await gateway.start() }

  package static let help = """
    Usage: tribune-nats [OPTION]...

    Connects the Tribune buses of several hosts through NATS: asks each host questions
    about the cluster, and forwards chosen notifications.

      --config=DIR     Read nats.conf and its drop-ins in DIR (default: /etc/tribune)
      --check-config   Report problems of the configuration, and exit
      --help, -h       Show this help
      --version        Show the version

    To use another bus than the system's, set $TRIBUNE_ADDRESS.
    """
}
