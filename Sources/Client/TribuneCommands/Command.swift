// SPDX-License-Identifier: Apache-2.0

/// A verb that is ready to run. The parser has checked the number of operands and the syntax of the options.
/// `init` checks the values of operands and options.
protocol Command: Sendable {
  /// The signals that the command handles through `Context.signals`. Other signals keep their default effect.
  var signals: [Int32] { get }

  init(_ invocation: Invocation) throws(CommandError)

  /// Returns the exit status.
  func run(in context: Context) async throws(CommandError) -> Int32
}

extension Command {
  var signals: [Int32] { [] }
}

extension VerbName {
  var command: any Command.Type {
    switch self {
    case .list: ListCommand.self
    case .status: StatusCommand.self
    case .monitor: MonitorCommand.self
    case .capture: CaptureCommand.self
    case .post: PostCommand.self
    case .get: GetCommand.self
    case .observe: ObserveCommand.self
    case .ask: AskCommand.self
    case .query: QueryCommand.self
    case .delegate: DelegateCommand.self
    case .guard: GuardCommand.self
    case .explain: ExplainCommand.self
    case .hold: HoldCommand.self
    case .holds: HoldsCommand.self
    case .actions: ActionsCommand.self
    case .lease: LeaseCommand.self
    case .leases: LeasesCommand.self
    case .defer: DeferCommand.self
    case .accounts: AccountsCommand.self
    case .declare: DeclareCommand.self
    case .top: TopCommand.self
    case .tree: TreeCommand.self
    case .introspect: IntrospectCommand.self
    case .verify: VerifyCommand.self
    case .log: LogCommand.self
    case .policy: PolicyCommand.self
    case .completion: CompletionCommand.self
    case .help: HelpCommand.self
    case .version: VersionCommand.self
    }
  }
}
