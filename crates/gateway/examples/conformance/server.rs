//! The fixture as a server of MCP.
#![allow(
    deprecated,
    reason = "the kit tries the logging of the older revision, which the newer one gave up"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InputResponses, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerConfig, ServerRequest, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::time::sleep;

use crate::acts::{PAUSE, log, progress, wants_sampling};
use crate::fixture::Fixture;
use crate::rounds::{Ended, States};

/// What all sessions share.
pub(crate) struct Shared {
    fixture: Fixture,
    states: States,
    changes: broadcast::Sender<Change>,
}

#[derive(Clone, Copy)]
enum Change {
    Tools,
    Prompts,
}

impl Shared {
    pub(crate) fn new(fixture: Fixture) -> Self {
        Self {
            fixture,
            states: States::default(),
            changes: broadcast::Sender::new(16),
        }
    }
}

/// The server of one session, or of one request.
pub(crate) struct Server {
    shared: Arc<Shared>,
    /// Whether the client wants to hear what is logged as information.
    hears: AtomicBool,
}

impl Server {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            hears: AtomicBool::new(true),
        }
    }

    fn fixture(&self) -> &Fixture {
        &self.shared.fixture
    }

    /// What a tool does before it says its part.
    async fn act(&self, name: &str, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        match name {
            "test_missing_capability" => {
                let can = context.client_capabilities().unwrap_or_default();
                if can.sampling.is_none() {
                    return Err(wants_sampling());
                }
            }
            "test_tool_with_logging" if self.hears.load(Ordering::Relaxed) => log(context).await,
            "test_logging_tool" if context.meta.log_level().is_some() => log(context).await,
            "test_tool_with_progress" => progress(context).await,
            "test_reconnection" => sleep(PAUSE).await,
            // Nobody may be listening.
            "test_trigger_tool_change" => drop(self.shared.changes.send(Change::Tools)),
            "test_trigger_prompt_change" => drop(self.shared.changes.send(Change::Prompts)),
            _ => {}
        }
        Ok(())
    }

    /// Asks the client of a session, and says what it heard.
    async fn ask(
        &self,
        request: ServerRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let answered = context.peer.send_request(request).await;
        let answered =
            answered.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let heard = serde_json::to_string(&answered);
        let heard = heard.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let text = format!("The client answers: {heard}");
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }
}

impl Server {
    /// One round of a call that takes several; `None` for a name that takes one.
    fn round<T: DeserializeOwned>(
        &self,
        name: &str,
        (responses, state): (&Option<InputResponses>, &Option<String>),
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<Ended<T>, ErrorData>> {
        let call = self.fixture().rounds.get(name)?;
        let can = context.client_capabilities();
        let (responses, state) = (responses.as_ref(), state.as_deref());
        let states = &self.shared.states;
        Some(states.round((name, call), responses, state, can.as_ref()))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(self.fixture().capabilities.clone()).with_server_info(
            Implementation::new("signet-conformance", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.fixture().tools.clone(),
        ))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.fixture()
            .tools
            .iter()
            .find(|tool| tool.name == name)
            .cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (name, fixture) = (&*request.name, self.fixture());
        let arguments = request.arguments.unwrap_or_default();
        let told = (&request.input_responses, &request.request_state);
        if let Some(ended) = self.round(name, told, &context) {
            return Ok(match ended? {
                Ended::Asks(asks) => asks.into(),
                Ended::Says(says) => CallToolResponse::Complete(says),
            });
        }
        if let Some(asks) = fixture.asks(name, &arguments) {
            return self.ask(asks, &context).await.map(Into::into);
        }
        self.act(name, &context).await?;
        let says: Option<CallToolResult> = fixture.says(name, &arguments);
        says.map(Into::into).ok_or_else(|| unknown("tool", name))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(
            self.fixture().prompts.clone(),
        ))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (name, fixture) = (&*request.name, self.fixture());
        let told = (&request.input_responses, &request.request_state);
        if let Some(ended) = self.round(name, told, &context) {
            return Ok(match ended? {
                Ended::Asks(asks) => asks.into(),
                Ended::Says(says) => GetPromptResponse::Complete(says),
            });
        }
        let says = fixture.says(name, &request.arguments.unwrap_or_default());
        let says = says.map(GetPromptResponse::Complete);
        says.ok_or_else(|| unknown("prompt", name))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(
            self.fixture().resources.clone(),
        ))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            self.fixture().templates.clone(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents: Option<ReadResourceResult> = self.fixture().contents(&request.uri);
        contents.map(Into::into).ok_or_else(|| {
            let data = json!({ "uri": request.uri });
            ErrorData::resource_not_found("there is no such resource", Some(data))
        })
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let hears = matches!(request.level, LoggingLevel::Debug | LoggingLevel::Info);
        self.hears.store(hears, Ordering::Relaxed);
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // What was not asked for is refused by the sink, which knows the filter.
            let _ = match change {
                Ok(Change::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
        }
    }
}

fn unknown(what: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no {what} {name}"), None::<Value>)
}
