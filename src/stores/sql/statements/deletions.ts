/** Single rows. */
export const deleteSessionSql = "delete from sessions where n = ?";
export const deleteConversationSql = "delete from conversations where n = ?";
export const deleteInboxSql = "delete from inbox where n = ?";
export const deleteTurnSql = "delete from turns where n = ?";
export const deleteDeliverySql = "delete from deliveries where n = ?";
export const deleteApprovalSql = "delete from approvals where n = ?";
export const deleteProcessSql = "delete from processes where n = ?";
export const deleteFlushSql = "delete from flushes where n = ?";

/** The rows of a session. */
export const deleteSessionPiecesSql = "delete from pieces where session = ?";
export const deleteSessionViewsSql = "delete from views where session = ?";
export const deleteSessionHoldsSql = "delete from holds where session = ?";
export const deleteSessionDeliveriesSql = "delete from deliveries where session = ?";
export const deleteSessionTurnsSql = "delete from turns where session = ?";
export const deleteSessionApprovalsSql = "delete from approvals where session = ?";
export const deleteSessionProcessesSql = "delete from processes where session = ?";
export const deleteSessionBlobUsesSql = "delete from blob_uses where session = ?";
export const deleteMessagesBetweenSql = "delete from messages where id between ? and ?";

/** The rows of a conversation. */
export const deleteConversationDecisionsSql = "delete from decisions where conversation = ?";
export const deleteConversationInboxSql = "delete from inbox where conversation = ?";
